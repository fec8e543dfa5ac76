import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { ExchangeFileError } from '../../contract/formats/exchange-file-error.ts';
import { findBelowRoot } from '../../platform/files/below-root.ts';
import { OPEN_REGULAR } from '../../platform/files/open-regular.ts';
import { exchangeTaskError } from './exchange-failure.ts';
import { open, rm } from '../../platform/files/file-changes.ts';

/** The daemon's own copy of a file, so that the bytes that are applied are those that were validated. */
export interface ImportCopy {
  readonly bytes: number;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
  read(): AsyncGenerator<Uint8Array>;
  close(): Promise<void>;
}

interface ImportCopyOptions {
  /** The folder of exchanged files. */
  readonly root: string;
  readonly privateFolder: string;
  /** Relative to the root. */
  readonly file: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** Small enough that parsing one piece does not hold up other work. */
const PIECE_BYTES = 32 * 1024;

/**
 * Copies a file, uses the copy and frees its space.
 *
 * @throws TaskError of the file and of the exchange folder; the error of `use`, as {@link exchangeTaskError} converts it
 */
export async function withImportCopy<Result>(
  options: ImportCopyOptions,
  use: (copy: ImportCopy) => Promise<Result>,
): Promise<Result> {
  try {
    const copy = await copyForImport(options);
    try {
      return await use(copy);
    } finally {
      await copy.close();
    }
  } catch (error) {
    throw exchangeTaskError(options.file, error);
  }
}

/**
 * Copies a file. The copy has no name, so nothing of it stays after a crash.
 *
 * @throws ServiceError `invalid_path`, `file_not_found`; ExchangeFileError `limit_exceeded`; the file system error
 */
export async function copyForImport(options: ImportCopyOptions): Promise<ImportCopy> {
  const { root, file, privateFolder } = options;
  const path = await findBelowRoot(root, file);
  if (path === null) {
    throw new ServiceError('file_not_found', `there is no file "${file}" in the folder exchange.root`);
  }
  // A link or a pipe that takes the place of the file now is neither followed nor waited for.
  const source = await open(path, OPEN_REGULAR);
  try {
    const name = join(privateFolder, `.import-${randomUUID()}.tmp`);
    const copy = await open(name, 'wx+', 0o600);
    try {
      await rm(name);
      const { bytes, sha256 } = await copyPieces(source, copy, options);
      return { bytes, sha256, read: () => piecesOf(copy), close: async () => await copy.close() };
    } catch (error) {
      await copy.close();
      throw error;
    }
  } finally {
    await source.close();
  }
}

async function copyPieces(
  source: FileHandle,
  copy: FileHandle,
  { maxBytes, signal }: ImportCopyOptions,
): Promise<{ bytes: number; sha256: string }> {
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const piece of piecesOf(source)) {
    signal.throwIfAborted();
    bytes += piece.length;
    if (bytes > maxBytes) {
      throw new ExchangeFileError('limit_exceeded', `the file has more than ${maxBytes} bytes`, null);
    }
    digest.update(piece);
    // A plain write may write a part of it.
    await copy.writeFile(piece);
  }
  return { bytes, sha256: digest.digest('hex') };
}

async function* piecesOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  let position = 0;
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
