/** The code of a job thread that runs inside the thread. It does one job after the other, and may ask questions during a job. */

import type { MessagePort } from "node:worker_threads";
import type { Answered, News, ToThread } from "../../workers/thread.ts";
import { takeUntilEnd } from "../../workers/thread-end.ts";
import type { JobNews } from "./job-thread.ts";

/** Asks a question of the thread that gave the job. Resolves to undefined if that thread has no answer. */
export type AskBack = (asked: unknown) => Promise<unknown>;

/** Contract: if the work throws or rejects, the thread ends and the job has failed. */
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
