import type { UpdateRefusal } from './task-update.ts';

/** Ends the transaction of a call that is refused after it has begun to write. */
export class Refused extends Error {
  readonly refusal: UpdateRefusal;

  constructor(refusal: UpdateRefusal) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}
