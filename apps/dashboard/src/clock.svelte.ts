/** The current time, for times such as “12 s ago” in rows. It advances every few seconds while the page is visible. */

const everyMs = 5000;

class Clock {
  now: number = $state(Date.now());

  run(): () => void {
    const timer = setInterval(() => {
      if (!document.hidden) this.now = Date.now();
    }, everyMs);
    return () => clearInterval(timer);
  }
}

export const clock: Clock = new Clock();
