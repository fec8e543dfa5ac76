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
  readonly retryable: boolean;
}

/** The files that one run could not get, while it fetches all others for the next one. */
export class FailedFiles {
  #files: FailedFile[] = [];
  #inARow = 0;

  get count(): number {
    return this.#files.length;
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
    }
    this.#files.push({ destination, code, message, retryable });
  }

  /** Notes that a file was fetched. */
  fetched(): void {
    this.#inARow = 0;
  }

  /** Forgets a file whose bytes came from elsewhere. */
  forget(destination: string): void {
    this.#files = this.#files.filter((file) => file.destination !== destination);
  }

  get isFull(): boolean {
    return this.count >= FAILED_MAX;
  }

  /**
   * The failure of the task. One cause leads to one code; wrong bytes count more than missing ones.
   *
   * @param total files of the release
   * @param isSigned whether the release is copied as somebody signed it, so that nothing can be left out
   */
  failure(total: number, isSigned: boolean): TaskError {
    const files = this.#files;
    const wrong = files.find(({ code }) => code.endsWith('_mismatch'));
    const first = wrong ?? files[0];
    if (first === undefined) throw new Error('no file has failed');
    const others = this.count > TOLD_MAX ? ` and ${countText(this.count - TOLD_MAX, 'other')}` : '';
    const names = files.slice(0, TOLD_MAX).map(({ destination }) => quoteText(destination));
    const advice = isSigned ? '' : '; upstream.exclude leaves files out on purpose';
    const rest = this.isFull
      ? 'the run ended after so many'
      : `all others are stored, and the next sync fetches only what is missing${advice}`;
    const named = files.slice(0, NAMED_MAX);
    return new TaskError(
      first.code,
      `${this.count} of ${countText(total, 'file')} ${this.#state(wrong !== undefined)} (${names.join(', ')}${others}): ${first.message}; ${rest}`,
      {
        retryable: files.some(({ code, retryable }) => retryable && !OF_ONE_FILE.has(code)),
        details: {
          failed_entries: this.count,
          failed: named.map(({ destination, code, message }) => ({ destination, code, message })),
          ...(named.length < this.count ? { failed_named: named.length } : {}),
        },
      },
    );
  }

  #state(areWrong: boolean): string {
    if (this.#files.some(({ code }) => !OF_ONE_FILE.has(code))) return 'could not be fetched';
    const verb = this.count === 1 ? 'is' : 'are';
    return areWrong ? `${verb} missing or wrong upstream` : `${verb} missing upstream`;
  }
}
