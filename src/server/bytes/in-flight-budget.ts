/** Bytes that a client may have in flight even if the budget is used up, so that slow clients do not stop others. */
export const SLICE_BYTES = 64 * 1024;

/** The share of the budget for grants of more than a slice; the rest is for many clients with a slice each. */
const LARGE_SHARE = 0.75;

/** Counts the bytes that were read for clients and not yet taken by the network, over all clients. */
export class InFlightBudget {
  readonly #limit: number;
  #used = 0;

  /** @param limit bytes; above three quarters of it, each grant is a slice of {@link SLICE_BYTES} at most */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The used share of the budget, 0 to 1. */
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
   * @returns the bytes granted: all, or at most one slice; give back exactly this number
   */
  take(wanted: number): number {
    const granted = this.#used + wanted <= this.#limit * LARGE_SHARE ? wanted : Math.min(wanted, SLICE_BYTES);
    this.#used += granted;
    return granted;
  }

  /** Gives back bytes that were taken. */
  giveBack(granted: number): void {
    this.#used -= granted;
  }
}
