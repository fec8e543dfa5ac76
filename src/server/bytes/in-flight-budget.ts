/** What a client may have in flight even when the budget is used up, so that slow clients cannot stop fast ones. */
export const SLICE_BYTES = 64 * 1024;

/** The share of the budget that grants of more than a slice may fill; the rest is for many clients with a slice each. */
const LARGE_SHARE = 0.75;

/** Counts the bytes that were read for clients and not yet taken by the network, over all of them. */
export class InFlightBudget {
  readonly #limit: number;
  #used = 0;

  /** @param limit bytes; from three quarters of it on only slices of {@link SLICE_BYTES} are granted */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How much of it is used, 0 to 1. */
  get load(): number {
    return this.#limit === 0 ? 1 : Math.min(1, this.#used / this.#limit);
  }

  /** Bytes granted and not given back. */
  get used(): number {
    return this.#used;
  }

  /**
   * Takes bytes from the budget.
   *
   * @param wanted bytes, more than 0
   * @returns the bytes granted: all, or at most one slice; give back exactly these
   */
  take(wanted: number): number {
    const granted = this.#used + wanted <= this.#limit * LARGE_SHARE ? wanted : Math.min(wanted, SLICE_BYTES);
    this.#used += granted;
    return granted;
  }

  /** Gives back what was taken. */
  giveBack(granted: number): void {
    this.#used -= granted;
  }
}
