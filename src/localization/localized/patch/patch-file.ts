import { constants } from 'node:fs';
import { messageOf } from '../../../platform/errors.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import { NOT_A_FILE, openFile, type ByteSource, type OpenFile } from '../../../formats/byte-source.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { READ_LIMITS, type ReadLimits } from '../../../formats/value-visitor.ts';
import type { Part } from '../../parse/container/container-run.ts';
import type { IsolatedProgram } from '../../../platform/isolation/isolated-messages.ts';
import { compileRules, type CompiledRules } from '../../parse/rules/compile-rules.ts';
import type { LoadedRules } from '../../parse/rules/load-rules.ts';
import { compareContainer } from './check/compare-container.ts';
import { checkUnits, SelfCheckError } from './check/check-units.ts';
import { openEdits, type ContainerEdits } from './edits/edit-tree.ts';
import { PlacedError, placedError } from './placed-error.ts';
import { patchContainer, type PatchContainer } from './write/patch-container.ts';
import type { ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';
import type { PatchErrorCode } from '../../../formats/patch/patch-error.ts';
import { setFlagsFromString } from 'node:v8';
import { closeSync, openSync, rmSync, writeSync } from '../../../platform/files/file-changes.ts';

export interface PatchJob {
  readonly destination: string;
  readonly path: string;
  /** JSONL, one frozen edit a line, in the order of the parse index. */
  readonly editsPath: string;
  /** Where the patched file is written; it does not exist yet. */
  readonly outputPath: string;
}

type PatchFailureCode =
  | PatchErrorCode
  /** The container cannot be read, at least not as a whole. */
  | ParseErrorCode
  | 'patch_selfcheck_failed';

export type PatchOutcome =
  | {
      readonly kind: 'patched';
      readonly size: number;
      readonly checked: {
        readonly editedUnits: number;
        readonly otherUnits: number;
        /** Objects, entries and rows without an edit. */
        readonly untouchedParts: number;
      };
    }
  | {
      readonly kind: 'failed';
      readonly code: PatchFailureCode;
      readonly message: string;
      readonly archiveEntry: string | null;
      readonly fieldPath: string | null;
    };

interface PatchFileJob extends PatchJob {
  readonly scratchDirectory: string;
}

export type PatchProgram = IsolatedProgram<LoadedRules, PatchJob, never, PatchFileResult>;

export const patchProgram: PatchProgram = (loaded) => {
  const rules = compileRules(loaded);
  return async (job, { scratchDirectory }) => await patchFile({ ...job, scratchDirectory }, rules);
};

/** The result, or that the new file cannot be written: an error of the disk, and not of the container. */
export type PatchFileResult =
  | PatchOutcome
  | { readonly kind: 'unwritable'; readonly errno: string; readonly message: string };

/**
 * The limits of parsing, with less memory to read blocks again: objects are read in the order of their bytes, and two
 * containers at the same time.
 */
const LIMITS: ReadLimits = { ...READ_LIMITS, cacheBytes: 4 * 1024 * 1024 };

class OutputError extends Error {}

/**
 * Patches a file, and checks the result. A container that cannot be patched is an outcome, not an error.
 *
 * @param patch writes the new container; tests can use a faulty one
 */
export async function patchFile(
  job: PatchFileJob,
  rules: CompiledRules,
  patch: PatchContainer = patchContainer,
): Promise<PatchFileResult> {
  const editsDescriptor = openSync(job.editsPath, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const edits = openEdits(editsDescriptor);
    writePatched(job, rules, edits, patch);
    return await checkPatched(job, rules, edits);
  } catch (error) {
    rmSync(job.outputPath, { force: true });
    return failureOf(error);
  } finally {
    closeSync(editsDescriptor);
  }
}

/** Writes the new container. The memory of the writers is free before it is checked. */
function writePatched(
  { path, outputPath, destination, scratchDirectory }: PatchFileJob,
  rules: CompiledRules,
  { root }: ContainerEdits,
  patch: PatchContainer,
): void {
  using official = openContainer(path);
  const run = { destination, rules, limits: LIMITS, scratchDirectory };
  const output = createOutput(outputPath);
  try {
    for (const chunk of patch(run, wholePart(destination, official.source), root)) output.write(chunk);
  } finally {
    output.close();
  }
}

async function checkPatched(
  { path, outputPath, destination, scratchDirectory }: PatchFileJob,
  rules: CompiledRules,
  edits: ContainerEdits,
): Promise<PatchOutcome> {
  using before = openContainer(path);
  using after = openContainer(outputPath);
  try {
    const container = {
      before: before.source,
      after: after.source,
      destination,
      scratchDirectory,
      limits: LIMITS,
    };
    const units = await checkUnits(container, rules, edits);
    const pair = {
      before: wholePart(destination, before.source),
      after: wholePart(destination, after.source),
    };
    const run = { destination, rules, limits: LIMITS, scratchDirectory };
    const untouchedParts = compareContainer(run, pair, edits.root);
    return { kind: 'patched', size: after.source.size, checked: { ...units, untouchedParts } };
  } catch (error) {
    if (!(error instanceof PlacedError)) throw error;
    throw new SelfCheckError(error.message, error);
  }
}

function wholePart(destination: string, source: ByteSource): Part {
  return { source, name: destination, entry: null, entryKey: '', depth: 0 };
}

function openContainer(path: string): OpenFile {
  let file: OpenFile | null;
  try {
    file = openFile(path);
  } catch (error) {
    throw placedError(new FormatError('file_unreadable', messageOf(error)), null);
  }
  if (file !== null) return file;
  throw placedError(new FormatError('file_unreadable', `it is ${NOT_A_FILE}`), null);
}

function createOutput(path: string): {
  write(chunk: Uint8Array): void;
  close(): void;
} {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  const descriptor = attempt(() => openSync(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600));
  return {
    write: (chunk) => {
      for (let done = 0; done < chunk.length;) {
        done += attempt(() => writeSync(descriptor, chunk, done, chunk.length - done));
      }
    },
    close: () => {
      closeSync(descriptor);
    },
  };
}

function attempt<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw new OutputError(`the patched file cannot be written: ${messageOf(error)}`, { cause: error });
  }
}

/** The code of an error of the system, such as that of a temporary file on a full disk. */
function systemErrorCode(error: unknown): string | null {
  return error instanceof Error && 'syscall' in error ? errorCode(error) : null;
}

function failureOf(error: unknown): PatchFileResult {
  if (error instanceof OutputError) {
    return { kind: 'unwritable', errno: errorCode(error.cause) ?? 'EIO', message: error.message };
  }
  if (error instanceof SelfCheckError) {
    const { message, archiveEntry, fieldPath } = error;
    return { kind: 'failed', code: 'patch_selfcheck_failed', message, archiveEntry, fieldPath };
  }
  const errno = systemErrorCode(error);
  if (errno !== null) return { kind: 'unwritable', errno, message: messageOf(error) };
  if (!(error instanceof PlacedError)) throw error;
  const { code, message, archiveEntry, fieldPath } = error;
  return { kind: 'failed', code, message, archiveEntry, fieldPath };
}

/**
 * Keeps the heap of this process small. V8 lets a heap grow to several times the live objects before it collects garbage. Few
 * objects of a container live at a time, so that collecting more often costs little and saves half of the memory.
 *
 * Call it when all modules are loaded: V8 takes no code that was compiled in advance with other options.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=30');
}
