import { availableParallelism } from 'node:os';
import { RELEASE_FILE } from '../../contract/formats/release-file-format.ts';
import { STATIC_MIRROR_FILE } from '../../contract/formats/static-mirror-format.ts';
import { messageOf } from '../../platform/errors.ts';
import { errorCode, NO_SPACE } from '../../platform/files/error-code.ts';
import { fillFileDurably, requireReplaceable } from '../../platform/files/files.ts';
import { textBytes } from '../../domain/text-bytes.ts';
import { usageError } from '../../platform/terminal/usage-error.ts';
import { planExport, type ExportPlan } from '../../mirror/bundle/export-plan.ts';
import { writeBundle, type WriteBytes } from '../../mirror/bundle/write-bundle.ts';
import { planStaticMirror } from '../../mirror/static/static-plan.ts';
import { writeStaticMirror } from '../../mirror/static/write-static-mirror.ts';
import { createHashPool } from '../../platform/hashing/hash-pool.ts';
import { ObjectFault } from '../../snapshot/objects/object-fault.ts';
import { countText } from '../../domain/count-text.ts';
import { createProgressDisplay, withProgress } from '../output/progress-display.ts';
import { renderProgress } from '../output/progress-line.ts';
import { BUNDLE_EXITS, type BundleIo } from './bundle-io.ts';
import { EXPORT_USAGE, parseExportOptions, type ExportOptions } from './export-options.ts';
import { findStore } from './find-store.ts';

type Output = <T>(run: (write: WriteBytes) => Promise<T>) => Promise<T>;

/**
 * Runs `slipway export`: writes a release of a snapshot volume into one file, or as plain files into a folder.
 *
 * @param argv the command line after `export`
 * @returns the exit code
 */
export async function runExport(argv: readonly string[], io: BundleIo): Promise<number> {
  const options = parseExportOptions(argv);
  if (!options.ok) {
    io.stderr.write(usageError('slipway export', options.error));
    return BUNDLE_EXITS.usage;
  }
  if (options.value === 'help') {
    io.stdout.write(EXPORT_USAGE);
    return BUNDLE_EXITS.ok;
  }
  try {
    const { format } = options.value;
    const done = await (format === 'files' ? exportFiles : exportRelease)(options.value, io);
    const text = io.stdout;
    (options.value.output === '-' ? io.stderr : text).write(done);
    return BUNDLE_EXITS.ok;
  } catch (error) {
    io.stderr.write(`slipway export: ${io.signal.aborted ? 'interrupted' : reason(error)}\n`);
    return BUNDLE_EXITS.failed;
  }
}

async function exportFiles({ releaseId, data, output }: ExportOptions, io: BundleIo): Promise<string> {
  const { signal } = io;
  const plan = await planStaticMirror(await findStore(data), releaseId, signal);
  const { release, index } = plan;
  const bytes = index.header.total_bytes;
  const pool = createHashPool({ threads: availableParallelism() });
  try {
    const added = await withProgress(io, async (display) => {
      const onProgress = (done: number): void => {
        display.show(renderProgress({ done, total: bytes, unit: 'bytes', phase: 'export' }));
      };
      return await writeStaticMirror({ plan, directory: output, pool, onProgress, signal });
    });
    const all = `${countText(index.length, 'file')}, ${textBytes(bytes)}`;
    return (
      `${release.channel} release ${release.release_id} is in ${output}: ${all}; ${countText(added.files, 'file')} added, ${textBytes(added.bytes)}\n` +
      `upload ${RELEASE_FILE} and ${STATIC_MIRROR_FILE} after the others: docs/how-to/folders-and-buckets.md has the commands\n`
    );
  } catch (error) {
    if (!NO_SPACE.has(errorCode(error))) throw error;
    throw new Error(
      `${output} is not complete: its disk is full, and the release takes ${textBytes(bytes)}; free space there, and run the export again, which continues`,
      { cause: error },
    );
  } finally {
    await pool.close();
  }
}

async function exportRelease(
  { releaseId, since, data, output }: ExportOptions,
  io: BundleIo,
): Promise<string> {
  const { signal } = io;
  const plan = await planExport(await findStore(data), releaseId, since, signal);
  const display = createProgressDisplay(io.stderr, io.clock);
  const onProgress = (done: number): void => {
    display.show(renderProgress({ done, total: plan.bytes, unit: 'bytes', phase: 'export' }));
  };
  try {
    const into: Output = output === '-' ? intoStream(io.stdout, signal) : intoFile(output);
    const digest = await into(async (write) => await writeBundle({ plan, write, onProgress, signal }));
    return describe(plan, digest, output);
  } catch (error) {
    throw explainFull(error, plan, nameOf(output));
  } finally {
    display.end();
  }
}

function nameOf(output: string): string {
  return output === '-' ? 'standard output' : output;
}

function describe({ release, since, objects, bytes }: ExportPlan, digest: string, output: string): string {
  const left = since === null ? '' : `, without those of ${since.release_id}`;
  return `${release.channel} release ${release.release_id} is in ${nameOf(output)}: ${countText(objects.length, 'object')}${left}, ${textBytes(bytes)}\nmanifest ${digest}\n`;
}

/** Says of a full disk which file it is about, and what to do. @returns any other error as it is */
function explainFull(error: unknown, { bytes }: ExportPlan, output: string): unknown {
  if (!NO_SPACE.has(errorCode(error))) return error;
  return new Error(
    `${output} was not written: its disk is full, and the bundle takes at least ${textBytes(bytes)}; free space there, name a file on another disk with -o, or leave out with --since what the other side has`,
    { cause: error },
  );
}

function intoFile(path: string): Output {
  return async (run) => {
    await requireReplaceable(path);
    return await fillFileDurably(
      path,
      async (file) => await run(async (bytes) => await file.writeFile(bytes)),
    );
  };
}

/** A stream, which is waited for: the bytes belong to the writer again when the promise resolves. */
function intoStream(stream: NodeJS.WritableStream, signal: AbortSignal): Output {
  return async (run) =>
    await run(async (bytes) => {
      await new Promise<void>((resolve, reject) => {
        stream.write(Buffer.from(bytes), (error) => {
          if (error === undefined || error === null) resolve();
          else reject(error);
        });
      });
      signal.throwIfAborted();
    });
}

function reason(error: unknown): string {
  if (error instanceof ObjectFault) {
    return `${error.message}; the release is damaged or was removed during the export: run slipway verify, and the daemon's repair`;
  }
  return messageOf(error);
}
