import { countText } from '../../domain/count-text.ts';
import { TaskError } from '../../engine/tasks/task.ts';
import { quoteText } from '../../upstream/upstream-location.ts';
import { UpstreamError, type UpstreamErrorCode } from '../../upstream/upstream.ts';

/** Failures that say nothing of the other files of a release. */
const OF_ONE_FILE: ReadonlySet<UpstreamErrorCode> = new Set([
  'upstream_not_found',
  'upstream_forbidden',
  'size_mismatch',
  'digest_mismatch',
]);

/** Failed files after which a run no longer tries the others: upstream lacks most of the release. */
const FAILED_MAX = 1000;
/** Failed files that are named in the result of the task, and in its message. */
const NAMED_MAX = 100;
const TOLD_MAX = 5;

interface FailedFile {
  readonly destination: string;
  readonly code: UpstreamErrorCode;
  readonly message: string;
}

/** The files that one run could not get, while it fetches all others for the next one. */
export class FailedFiles {
  readonly #named: FailedFile[] = [];
  /** The first one with wrong bytes, however many were missing before it. */
  #wrong: FailedFile | null = null;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(destination: string, { code, message }: UpstreamError): void {
    this.#count += 1;
    const file = { destination, code, message };
    if (this.#named.length < NAMED_MAX) this.#named.push(file);
    if (code.endsWith('_mismatch')) this.#wrong ??= file;
  }

  get isFull(): boolean {
    return this.#count >= FAILED_MAX;
  }

  /**
   * The failure of the task. One cause leads to one code; wrong bytes count more than missing ones.
   *
   * @param total files of the release
   * @param isSigned whether the release is copied as somebody signed it, so that nothing can be left out
   */
  failure(total: number, isSigned: boolean): TaskError {
    const first = this.#wrong ?? this.#named[0];
    if (first === undefined) throw new Error('no file has failed');
    const { length } = this.#named;
    const others = this.#count > TOLD_MAX ? ` and ${countText(this.#count - TOLD_MAX, 'other')}` : '';
    const names = this.#named.slice(0, TOLD_MAX).map(({ destination }) => quoteText(destination));
    const verb = this.#count === 1 ? 'is' : 'are';
    const state = this.#wrong === null ? `${verb} missing upstream` : `${verb} missing or wrong upstream`;
    const advice = isSigned ? '' : '; upstream.exclude leaves files out on purpose';
    const rest = this.isFull
      ? 'the run ended after so many'
      : `all others are stored, and the next sync fetches only what is missing${advice}`;
    return new TaskError(
      first.code,
      `${this.#count} of ${countText(total, 'file')} ${state} (${names.join(', ')}${others}): ${first.message}; ${rest}`,
      {
        details: {
          failed_entries: this.#count,
          failed: this.#named.map(({ destination, code, message }) => ({ destination, code, message })),
          ...(length < this.#count ? { failed_named: length } : {}),
        },
      },
    );
  }
}

/** Whether an error is the failure of one file of upstream, so that others may be there. */
export function isOfOneFile(error: unknown): error is UpstreamError {
  return error instanceof UpstreamError && OF_ONE_FILE.has(error.code);
}
