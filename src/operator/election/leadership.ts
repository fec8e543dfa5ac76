export interface Leadership {
  isHeld(): boolean;
  /**
   * Runs an effect that only the leader may cause. Its signal is aborted when the lease may no longer be ours, well
   * before another process can take it.
   *
   * @throws LeadershipLost when the lease is not held now
   */
  act<T>(effect: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** This process does not lead, or no longer leads. */
export class LeadershipLost extends Error {
  constructor() {
    super('this process does not hold the lease');
    this.name = 'LeadershipLost';
  }
}

/** For a single process without an election: it may always act. */
export const alwaysLeading: Leadership = {
  isHeld: () => true,
  act: async (effect) => await effect(new AbortController().signal),
};
