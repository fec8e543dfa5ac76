import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import {
  OCI_MANIFEST_MAX_BYTES,
  ociLayoutProblem,
  parseLayoutIndex,
  type Descriptor,
} from '../../contract/formats/bundle-format.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { readBoundedFile } from '../../platform/files/files.ts';
import { OPEN_REGULAR } from '../../platform/files/open-regular.ts';
import type { BlobReader } from './blob-reader.ts';
import { BundleError } from './bundle-error.ts';
import { listTar, TarError, type TarMember } from './tar-file.ts';

export interface Layout extends BlobReader {
  readonly manifests: readonly Descriptor[];
  close(): Promise<void>;
}

/** Bytes read at a time. */
const READ_BYTES = 1024 * 1024;
const INDEX = 'index.json';
const MARK = 'oci-layout';

/**
 * Opens an OCI image layout: a tar archive of one, or a folder.
 *
 * @param label the name that messages give it
 * @throws BundleError when it is neither; the file system error
 */
export async function openLayout(path: string, label = path): Promise<Layout> {
  let file: FileHandle;
  try {
    file = await open(path, OPEN_REGULAR);
  } catch (error) {
    if (errorCode(error) !== 'ELOOP') throw error;
    throw new BundleError(`${path} is a symbolic link; name the file itself`);
  }
  const stats = await file.stat();
  if (stats.isFile()) return await openArchive(label, file, stats.size);
  await file.close();
  if (stats.isDirectory()) return await openFolder(path);
  throw new BundleError(`${path} is neither a file nor a folder`);
}

async function openArchive(label: string, file: FileHandle, size: number): Promise<Layout> {
  try {
    const members = new Map<string, TarMember>();
    for (const member of await listTar(async (start, end) => await readAt(file, start, end), size)) {
      members.set(member.path, member);
    }
    const readMember = async (name: string): Promise<Buffer> => {
      const member = members.get(name);
      if (member === undefined) {
        throw new BundleError(
          `${label} has no ${name}: it is not a bundle, or it was not written to its end`,
        );
      }
      if (member.size > OCI_MANIFEST_MAX_BYTES)
        throw new BundleError(`${label}: ${name} has ${member.size} bytes`);
      return await readAt(file, member.offset, member.offset + member.size);
    };
    const manifests = manifestsOf(label, await readMember(MARK), await readMember(INDEX));
    return {
      label,
      manifests,
      read: (blob, start, end, signal) => {
        const member = members.get(blobPath(blob));
        if (member === undefined || member.size !== blob.size) throw missing(label, blob, member?.size);
        return readRange(file, {
          label,
          start: member.offset + start,
          end: member.offset + end,
          signal,
        });
      },
      close: async () => await file.close(),
    };
  } catch (error) {
    await file.close();
    throw error instanceof TarError ? new BundleError(`${label}: ${error.message}`) : error;
  }
}

async function openFolder(path: string): Promise<Layout> {
  const readFile = async (name: string): Promise<Buffer> =>
    await readBoundedFile(join(path, name), OCI_MANIFEST_MAX_BYTES).catch((error: unknown) => {
      if (errorCode(error) !== 'ENOENT') throw error;
      throw new BundleError(`${path} has no ${name}: it is not an OCI image layout`);
    });
  const manifests = manifestsOf(path, await readFile(MARK), await readFile(INDEX));
  return {
    label: path,
    manifests,
    read: (blob, start, end, signal) => readBlobFile(path, blob, { start, end, signal }),
    close: async () => undefined,
  };
}

async function* readBlobFile(
  path: string,
  blob: Descriptor,
  range: { readonly start: number; readonly end: number; readonly signal: AbortSignal },
): AsyncGenerator<Uint8Array, void> {
  const file = await open(join(path, blobPath(blob)), OPEN_REGULAR).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
    throw missing(path, blob, undefined);
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size !== blob.size) throw missing(path, blob, stats.size);
    yield* readRange(file, { label: path, ...range });
  } finally {
    await file.close();
  }
}

async function* readRange(
  file: FileHandle,
  {
    label,
    start,
    end,
    signal,
  }: { readonly label: string; readonly start: number; readonly end: number; readonly signal: AbortSignal },
): AsyncGenerator<Uint8Array, void> {
  for (let at = start; at < end;) {
    signal.throwIfAborted();
    const bytes = await readAt(file, at, Math.min(end, at + READ_BYTES));
    if (bytes.length === 0) throw new BundleError(`${label} became shorter while it was read`);
    at += bytes.length;
    yield bytes;
  }
}

async function readAt(file: FileHandle, start: number, end: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(end - start);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
  return buffer.subarray(0, bytesRead);
}

function manifestsOf(path: string, mark: Buffer, index: Buffer): readonly Descriptor[] {
  const problem = ociLayoutProblem(mark.toString('utf8'));
  if (problem !== null) throw new BundleError(`${path}: ${problem}`);
  const parsed = parseLayoutIndex(index.toString('utf8'));
  if (!parsed.ok) throw new BundleError(`${path}: ${parsed.error}`);
  return parsed.value;
}

function blobPath({ digest }: Descriptor): string {
  return `blobs/${digest.replace(':', '/')}`;
}

function missing(path: string, { digest, size }: Descriptor, found: number | undefined): BundleError {
  return new BundleError(
    `${path}: the blob ${digest} ${found === undefined ? 'is missing' : `has ${found} bytes instead of ${size}`}; copy the bundle again`,
  );
}
