/** Shared by the definitions of all commands: common options, examples, and the values of options. */

import { type Command, InvalidArgumentError } from "commander";
import { ageWords, millisecondsIn } from "../config/ages-and-sizes.ts";

export function example(command: Command, line: string): Command {
  return command.addHelpText("after", `\nExample:\n  ${line}`);
}

export function withData(command: Command): Command {
  return command
    .option("--data <folder>", "data folder (default: ~/.plimsoll)")
    .option("--config <file>", "configuration file, YAML or TOML");
}

export function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError("give a number from 0 to 65535.");
}

export function countOf(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0) return count;
  throw new InvalidArgumentError("give a whole number above 0.");
}

export function numberOf(text: string): number {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isFinite(number)) return number;
  throw new InvalidArgumentError("give a number.");
}

export function shareOf(text: string): number {
  const share = Number(text);
  if (share > 0 && share <= 1) return share;
  throw new InvalidArgumentError("give a number above 0, at most 1.");
}

export function secondsOf(text: string): number {
  const seconds = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isFinite(seconds) && seconds >= 0) return seconds;
  throw new InvalidArgumentError("give a number of seconds.");
}

export function ageOf(text: string): number {
  const age = millisecondsIn(text);
  if (age !== undefined) return age;
  throw new InvalidArgumentError(`give ${ageWords}.`);
}

/** Collects the values of an option that may be given several times. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
