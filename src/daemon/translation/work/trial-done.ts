/** Undoes the transaction of a call that was only tried, and carries its result. */
export class TrialDone<Done> extends Error {
  readonly done: Done;

  constructor(done: Done) {
    super('the call was only tried');
    this.done = done;
  }
}
