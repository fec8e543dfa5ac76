import type { FileHandle } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { RELEASE_FILE, SERVER_INFO_FILE } from '../../contract/formats/release-file-format.ts';
import { countText } from '../../domain/count-text.ts';
import { SERVER_INFO_MAX_BYTES } from '../../domain/release/server-info-document.ts';
import { textBytes } from '../../domain/text-bytes.ts';
import { messageOf } from '../../platform/errors.ts';
import { errorCode, NO_SPACE } from '../../platform/files/error-code.ts';
import { mkdtemp, open, rm } from '../../platform/files/file-changes.ts';
import { fillFileDurably, requireReplaceable } from '../../platform/files/files.ts';
import { blake3Hex } from '../../platform/hashing/blake3.ts';
import { createHashPool } from '../../platform/hashing/hash-pool.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { usageError } from '../../platform/terminal/usage-error.ts';
import { openOptional, readOptional, resolveTreeRoot } from '../adapters/tree-files.ts';
import { checkServerInfo } from '../http/http-documents.ts';
import { openKnownFiles } from './known-files.ts';
import { MANIFEST_USAGE, parseManifestOptions, type ManifestOptions } from './manifest-options.ts';
import { writeReleaseFile, type WrittenReleaseFile } from './write-release-file.ts';

/** The environment of `slipway manifest`. */
export interface ManifestIo {
  readonly stdout: { write(text: string | Uint8Array, done?: (error?: Error | null) => void): unknown };
  readonly stderr: { write(text: string): unknown };
  /** Shows how many bytes are done. */
  readonly progress: { show(bytes: number): void; end(): void };
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface WrittenManifest extends WrittenReleaseFile {
  /** Whether the release id is that of the file that was updated. */
  readonly isIdKept: boolean;
}

/** Exit codes of `slipway manifest`. */
export const MANIFEST_EXITS = { ok: 0, failed: 1, usage: 2 } as const;

/**
 * Runs `slipway manifest`: writes the release file of a folder.
 *
 * @param argv the command line after `manifest`
 * @returns one of {@link MANIFEST_EXITS}
 */
export async function runManifest(argv: readonly string[], io: ManifestIo): Promise<number> {
  const options = parseManifestOptions(argv);
  if (!options.ok) {
    io.stderr.write(usageError('slipway manifest', options.error));
    return MANIFEST_EXITS.usage;
  }
  if (options.value === 'help') {
    io.stdout.write(MANIFEST_USAGE);
    return MANIFEST_EXITS.ok;
  }
  try {
    const written = await writeInto(options.value, io);
    const output = options.value.output;
    (output === null ? io.stderr : io.stdout).write(describe(written, output));
    return MANIFEST_EXITS.ok;
  } catch (error) {
    io.stderr.write(
      `slipway manifest: ${io.signal.aborted ? 'interrupted' : reasonOf(error, options.value)}\n`,
    );
    return MANIFEST_EXITS.failed;
  } finally {
    io.progress.end();
  }
}

function reasonOf(error: unknown, { output }: ManifestOptions): string {
  if (!NO_SPACE.has(errorCode(error))) return messageOf(error);
  return output === null
    ? 'standard output, or the folder for temporary files (TMPDIR), is full; free space there'
    : `${output} was not written: its disk is full; free space there, or name a file on another disk with -o`;
}

async function writeInto(options: ManifestOptions, io: ManifestIo): Promise<WrittenManifest> {
  const { output } = options;
  const root = await resolveTreeRoot(options.directory, 'the folder');
  if (output !== null) {
    await realPlace(output);
    await requireReplaceable(output);
    return await fillFileDurably(output, async (file) => await writeTree(file, root, options, io));
  }
  // The id is known at the end and stands at the beginning.
  const folder = await mkdtemp(join(tmpdir(), 'slipway-manifest-'));
  try {
    const file = await open(join(folder, RELEASE_FILE), 'wx+');
    try {
      const written = await writeTree(file, root, options, io);
      await copyOut(file, io);
      return written;
    } finally {
      await file.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeTree(
  file: FileHandle,
  root: string,
  { output, releaseId, appVersion, update }: ManifestOptions,
  { progress, clock, signal }: ManifestIo,
): Promise<WrittenManifest> {
  const bytes = await readOptional(join(root, SERVER_INFO_FILE), SERVER_INFO_MAX_BYTES);
  if (bytes !== null) checkServerInfo(bytes, SERVER_INFO_FILE);
  // Its digest changes the document, in which alone a daemon looks for changes.
  const serverInfo = bytes === null ? null : { path: SERVER_INFO_FILE, blake3: blake3Hex(bytes) };
  const left = new Set([RELEASE_FILE, SERVER_INFO_FILE]);
  if (output !== null) left.add(relative(root, await realPlace(output)));
  const older = update && output !== null ? await openOptional(output) : null;
  const known = older === null ? null : openKnownFiles(older, output ?? '');
  const pool = createHashPool({ threads: availableParallelism() });
  try {
    const keptId = releaseId !== null || known === null ? null : await known.givenId();
    const written = await writeReleaseFile(file, {
      root,
      left,
      head: { releaseId: releaseId ?? keptId, appVersion, serverInfo },
      known,
      pool,
      now: () => clock.now(),
      onProgress: (bytes) => {
        progress.show(bytes);
      },
      signal,
    });
    return { ...written, isIdKept: keptId !== null };
  } finally {
    await known?.close();
    await pool.close();
  }
}

/** The path of a file as the walk below a real root sees it. The file need not exist. */
async function realPlace(path: string): Promise<string> {
  return join(await resolveTreeRoot(dirname(resolve(path)), 'the folder of --output'), basename(path));
}

async function copyOut(file: FileHandle, { stdout, signal }: ManifestIo): Promise<void> {
  for await (const piece of file.createReadStream({ start: 0, autoClose: false })) {
    signal.throwIfAborted();
    await new Promise<void>((taken, failed) => {
      stdout.write(piece as Uint8Array, (error) => {
        if (error === undefined || error === null) taken();
        else failed(error);
      });
    });
  }
}

function describe(
  { releaseId, files, bytes, read, isIdKept }: WrittenManifest,
  output: string | null,
): string {
  const where = output ?? 'standard output';
  const kept = isIdKept ? ' (the id that the file had; --release gives a new one)' : '';
  return `${where} describes release ${releaseId}${kept}: ${countText(files, 'file')}, ${textBytes(bytes)}; ${countText(read, 'file was', 'files were')} read\n`;
}
