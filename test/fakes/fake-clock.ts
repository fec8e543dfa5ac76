import type { Clock } from '../../src/platform/process/clock.ts';

interface Sleeper {
  readonly due: number;
  readonly wake: () => void;
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #wall: number;
  #monotonic = 0;
  readonly #sleepers = new Set<Sleeper>();

  /** @param startMs wall clock at the beginning, Unix milliseconds */
  constructor(startMs = Date.UTC(2026, 0, 15, 12)) {
    this.#wall = startMs;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** How many calls of {@link sleep} are waiting. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** When the first of those that sleep is woken, in monotonic milliseconds; `Infinity` without any. */
  get nextDue(): number {
    return Math.min(...[...this.#sleepers].map(({ due }) => due));
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (ms <= 0) return;
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        this.#sleepers.delete(sleeper);
        // The signal's reason is passed on as it is, as the real clock does.
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        due: this.#monotonic + ms,
        wake: () => {
          this.#sleepers.delete(sleeper);
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Moves both clocks forward and wakes every sleeper on the way in order, including those that sleep again. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await settle();
    for (;;) {
      const next = [...this.#sleepers].sort((left, right) => left.due - right.due)[0];
      if (next === undefined || next.due > end) break;
      // Overdue after a jump.
      this.#moveTo(Math.max(next.due, this.#monotonic));
      next.wake();
      await settle();
    }
    this.#moveTo(end);
  }

  /**
   * Moves both clocks forward in one step, then wakes each sleeper that is due, once. For tests in which the date matters and
   * not what happens on the way: {@link advance} by a day wakes the loops of a daemon 50,000 times.
   */
  async skip(ms: number): Promise<void> {
    this.jumpAhead(ms);
    await this.advance(0);
  }

  /** Moves both clocks forward in one step and wakes nobody on the way, as for a process that stood still. */
  jumpAhead(ms: number): void {
    this.#moveTo(this.#monotonic + ms);
  }

  /** Sets the wall clock alone, as an operator or NTP would. */
  jumpTo(unixMs: number): void {
    this.#wall = unixMs;
  }

  #moveTo(monotonic: number): void {
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}

/** Lets everything run that is ready to run. */
async function settle(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}
