import type { PartLocation } from '../../../parse/container/parsed-container.ts';

export interface PlacedText {
  readonly location: PartLocation;
  readonly fieldPath: string;
  readonly text: string;
}

export type Side = 'before' | 'after';

/** Texts of one side that wait for the other one. */
const MAX_AHEAD = 1000;

/** One promise for most texts, of which there can be millions. */
const DONE = Promise.resolve();

/** Brings the texts of two containers together, one by one, while both are parsed. */
export class UnitPairs {
  readonly #queues = { before: new Queue(), after: new Queue() };
  readonly #compare: (before: PlacedText | null, after: PlacedText | null) => void;
  #error: { readonly cause: unknown } | null = null;

  /**
   * @param compare takes the next text of each side; `null` where a side has no more. Its error reaches the side whose text
   * came last, which passes it on to {@link UnitPairs.fail}
   */
  constructor(compare: (before: PlacedText | null, after: PlacedText | null) => void) {
    this.#compare = compare;
  }

  push(side: Side, text: PlacedText): Promise<void> {
    if (this.#error !== null) throw this.#error.cause;
    const queue = this.#queues[side];
    queue.add(text);
    this.#comparePairs();
    return queue.length > MAX_AHEAD ? queue.untilShort() : DONE;
  }

  end(side: Side): void {
    this.#queues[side].hasEnded = true;
    this.#comparePairs();
  }

  fail(cause: unknown): void {
    this.#error ??= { cause };
    this.#queues.before.reject(cause);
    this.#queues.after.reject(cause);
  }

  #comparePairs(): void {
    const { before, after } = this.#queues;
    while (before.length + after.length > 0 && before.isKnown && after.isKnown) {
      this.#compare(before.take(), after.take());
    }
    before.wake();
    after.wake();
  }
}

class Queue {
  hasEnded = false;
  #texts: PlacedText[] = [];
  #taken = 0;
  #waiting: PromiseWithResolvers<void> | null = null;

  get length(): number {
    return this.#texts.length - this.#taken;
  }

  /** Whether it is known that a text comes next, or that none does. */
  get isKnown(): boolean {
    return this.hasEnded || this.length > 0;
  }

  add(text: PlacedText): void {
    this.#texts.push(text);
  }

  take(): PlacedText | null {
    const text = this.#texts[this.#taken] ?? null;
    if (text === null) return null;
    this.#taken += 1;
    if (this.#taken === this.#texts.length) {
      this.#texts = [];
      this.#taken = 0;
    }
    return text;
  }

  untilShort(): Promise<void> {
    this.#waiting = Promise.withResolvers<void>();
    return this.#waiting.promise;
  }

  wake(): void {
    if (this.length > 0) return;
    this.#waiting?.resolve();
    this.#waiting = null;
  }

  reject(cause: unknown): void {
    this.#waiting?.reject(cause);
    this.#waiting = null;
  }
}
