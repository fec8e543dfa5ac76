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

/** Failures that can be of one file, such as one that a server cannot read, and also of the server. */
const OF_ONE_OR_ALL: ReadonlySet<UpstreamErrorCode> = new Set([
  'upstream_status',
  'upstream_truncated',
  'upstream_timeout',
  'upstream_unreachable',
  'upstream_not_modified',
]);

/** Such failures, with no file fetched in between, that are of the server. */
const IN_A_ROW_MAX = 5;

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
  /** Those that are neither missing nor wrong. */
  #refused = 0;
  #inARow = 0;
  #isRetryable = false;

  get count(): number {
    return this.#count;
  }

  /**
   * Notes a file that failed, so that the others are fetched.
   *
   * @throws the error when it is no failure of one file
   */
  add(destination: string, error: unknown): void {
    if (!(error instanceof UpstreamError)) throw error;
    const { code, message, retryable } = error;
    if (!OF_ONE_FILE.has(code)) {
      this.#inARow += 1;
      if (!OF_ONE_OR_ALL.has(code) || this.#inARow >= IN_A_ROW_MAX) throw error;
      this.#refused += 1;
      this.#isRetryable ||= retryable;
    }
    this.#count += 1;
    const file = { destination, code, message };
    if (this.#named.length < NAMED_MAX) this.#named.push(file);
    if (code.endsWith('_mismatch')) this.#wrong ??= file;
  }

  /** Notes that a file was fetched. */
  fetched(): void {
    this.#inARow = 0;
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
    const advice = isSigned ? '' : '; upstream.exclude leaves files out on purpose';
    const rest = this.isFull
      ? 'the run ended after so many'
      : `all others are stored, and the next sync fetches only what is missing${advice}`;
    return new TaskError(
      first.code,
      `${this.#count} of ${countText(total, 'file')} ${this.#state()} (${names.join(', ')}${others}): ${first.message}; ${rest}`,
      {
        retryable: this.#isRetryable,
        details: {
          failed_entries: this.#count,
          failed: this.#named.map(({ destination, code, message }) => ({ destination, code, message })),
          ...(length < this.#count ? { failed_named: length } : {}),
        },
      },
    );
  }

  #state(): string {
    if (this.#refused > 0) return 'could not be fetched';
    const verb = this.#count === 1 ? 'is' : 'are';
    return this.#wrong === null ? `${verb} missing upstream` : `${verb} missing or wrong upstream`;
  }
}
