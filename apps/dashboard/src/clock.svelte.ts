/** The time as it is shown beside rows: moves every few seconds, as long as somebody looks. */

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
