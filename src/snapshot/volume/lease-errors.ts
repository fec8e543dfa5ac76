import { messageOf } from '../../platform/errors.ts';

/** The holder cannot write now, because it could not renew its lease in time. The next renewal may succeed. */
export class StoreLeaseExpiredError extends Error {
  readonly code: string | null;

  constructor(cause: unknown) {
    super(
      `the lease of the snapshot volume could not be renewed${cause === null ? '' : `: ${messageOf(cause)}`}`,
      { cause },
    );
    this.name = 'StoreLeaseExpiredError';
    // The code of the cause says more.
    this.code = cause === null ? 'ELEASE' : null;
  }
}

/** This daemon's time as the writer is over: another daemon has taken the lease or may take it. It never writes again. */
export class StoreLeaseLostError extends Error {
  readonly code = 'ELEASE';

  /** @param how such as `was released` */
  constructor(how: string) {
    super(`the lease of the snapshot volume ${how}; this daemon writes nothing anymore`);
    this.name = 'StoreLeaseLostError';
  }
}
