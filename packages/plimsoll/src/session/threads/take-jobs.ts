/** The other side of a job thread: takes one job after the other, and may ask while it works. */

import type { MessagePort } from "node:worker_threads";
import type { Answered, News, ToThread } from "../../workers/thread.ts";
import { takeUntilEnd } from "../../workers/thread-end.ts";
import type { JobNews } from "./job-thread.ts";

/** Asks those who gave the job; undefined when they have no answer. */
export type AskBack = (asked: unknown) => Promise<unknown>;

/** Contract: work that throws or rejects ends the thread, and its job has failed. */
export function takeJobs<J, A>(
  port: MessagePort,
  work: (job: J, askBack: AskBack) => A | Promise<A>,
): void {
  const asked = new Map<number, (value: unknown) => void>();
  let questions = 0;
  const say = (reply: Answered<A> | News<JobNews>): void => port.postMessage([reply]);

  const take = async (id: number, job: J): Promise<void> => {
    say({ id, news: { kind: "begun" } });
    const askBack: AskBack = (question) =>
      new Promise((resolve) => {
        questions += 1;
        asked.set(questions, resolve);
        say({ id, news: { kind: "asks", number: questions, asked: question } });
      });
    say({ id, answer: await work(job, askBack) });
  };

  takeUntilEnd(port, (messages: ToThread<J>) => {
    for (const message of messages) {
      if ("question" in message) void take(message.id, message.question);
      else {
        asked.get(message.told)?.(message.value);
        asked.delete(message.told);
      }
    }
  });
}
