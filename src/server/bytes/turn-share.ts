/** Bytes of long responses that are handed to the network in one turn of the event loop: a few milliseconds of copying. */
const TURN_BYTES = 4 * 1024 * 1024;

interface Waiting {
  readonly bytes: number;
  readonly resume: () => void;
}

/**
 * Divides the event loop among long responses. While blocks are in memory and the system takes them, a response would run
 * without a pause, and many that begin together would keep every other client waiting for as long as all of them take.
 */
export class TurnShare {
  readonly #limit: number;
  #left: number;
  #waiting: Waiting[] = [];
  #isTimed = false;

  /** @param limit bytes of one turn */
  constructor(limit: number = TURN_BYTES) {
    this.#limit = limit;
    this.#left = limit;
  }

  /**
   * Takes part of this turn, or waits for a later one behind those that wait already.
   *
   * @returns `null` if the bytes can be sent in this turn
   */
  take(bytes: number): Promise<void> | null {
    if (!this.#isTimed) {
      this.#isTimed = true;
      setImmediate(this.#onNextTurn);
    }
    if (this.#left > 0 && this.#waiting.length === 0) {
      this.#left -= bytes;
      return null;
    }
    return new Promise((resume) => {
      this.#waiting.push({ bytes, resume });
    });
  }

  readonly #onNextTurn = (): void => {
    this.#left = this.#limit;
    let resumed = 0;
    for (const { bytes, resume } of this.#waiting) {
      if (this.#left <= 0) break;
      this.#left -= bytes;
      resumed += 1;
      resume();
    }
    this.#waiting = this.#waiting.slice(resumed);
    this.#isTimed = this.#waiting.length > 0;
    if (this.#isTimed) setImmediate(this.#onNextTurn);
  };
}
