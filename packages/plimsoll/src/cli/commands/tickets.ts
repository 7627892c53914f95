/** `plimsoll tickets`: lists and shows tickets, adds one, answers one, and resolves one. */

import { harmless, harmlessJson } from "../../text/unseen.ts";
import type { Ticket, TicketStatus, TicketType } from "../../work/ticket.ts";
import { withWork } from "../console/command-work.ts";
import { fields, oneLine, table, utc } from "../console/terminal.ts";
import type { ListFlags, ShowFlags } from "./tasks.ts";

export interface AddTicketFlags extends ShowFlags {
  readonly type?: TicketType;
  readonly description?: string;
  readonly task?: string;
  readonly assignee?: string;
}

export async function runTickets(flags: ListFlags<TicketStatus>): Promise<void> {
  const { status, limit, json } = flags;
  const items = await withWork(flags, ({ tickets }) => tickets.list({ status, limit }));
  if (json === true) console.log(harmlessJson({ items }));
  else if (items.length > 0) console.log(ticketTable(items));
  else console.log(status === undefined ? "There are no tickets." : `No ticket is ${status}.`);
}

export async function showTicket(id: string, flags: ShowFlags): Promise<void> {
  const ticket = await withWork(flags, ({ tickets }) => tickets.get(id));
  console.log(flags.json === true ? harmlessJson(ticket) : ticketText(ticket));
}

export async function addTicket(title: string, flags: AddTicketFlags): Promise<void> {
  const { type = "issue", description, task, assignee } = flags;
  const wanted = { type, title, description, task, assignee };
  print(await withWork(flags, ({ tickets }) => tickets.create(wanted)), flags);
}

export async function answerTicket(id: string, text: string, flags: ShowFlags): Promise<void> {
  print(await withWork(flags, ({ tickets }) => tickets.answer(id, { text })), flags);
}

export async function resolveTicket(id: string, flags: ShowFlags): Promise<void> {
  print(await withWork(flags, ({ tickets }) => tickets.resolve(id)), flags);
}

function print(ticket: Ticket, { json }: ShowFlags): void {
  const { id, status } = ticket;
  console.log(json === true ? harmlessJson(ticket) : `${id}  ${status}  ${short(ticket)}`);
}

function short({ title }: Ticket): string {
  return oneLine(title, 60);
}

function ticketTable(tickets: readonly Ticket[]): string {
  return table([
    ["ticket", "status", "type", "task", "for", "title", "answers", "last change (UTC)"],
    ...tickets.map((ticket) => [
      ticket.id,
      ticket.status,
      ticket.type,
      ticket.task ?? "",
      oneLine(ticket.assignee, 20),
      short(ticket),
      ticket.answers.length,
      utc(ticket.updatedAt),
    ]),
  ]);
}

function ticketText(ticket: Ticket): string {
  return [
    `${ticket.id}  ${oneLine(ticket.title, 300)}`,
    fields([
      ["status", ticket.status],
      ["type", ticket.type],
      ["task", ticket.task],
      ["for", ticket.assignee],
      ["session", ticket.session],
      ["created", `${utc(ticket.createdAt)} UTC`],
      ["last change", `${utc(ticket.updatedAt)} UTC`],
    ]),
    ...(ticket.description === "" ? [] : ["", harmless(ticket.description)]),
    ...ticket.answers.flatMap(({ by, at, text }) => [
      "",
      `${oneLine(by, 40)} answered at ${utc(at)} UTC:`,
      harmless(text),
    ]),
  ].join("\n");
}
