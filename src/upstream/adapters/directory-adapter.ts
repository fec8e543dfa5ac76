import { open, opendir, realpath, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';
import { blake3Hex, createBlake3 } from '../../platform/hashing/blake3.ts';
import { parseSmallJson } from '../catalog-readers/catalog-document.ts';
import { openDirectoryEntry } from './directory-entry.ts';
import { failureOfFile, walkTree, type TreeFile, type WalkRules } from './directory-walk.ts';
import { emptyCatalog, invalidEntry, tooManyEntries } from '../entry-rules.ts';
import { SERVER_INFO_MAX_BYTES } from '../../domain/release/server-info-document.ts';
import { checkServerInfo } from '../http/http-documents.ts';
import type { DirectoryConfiguration, UpstreamConfiguration } from '../upstream-config.ts';
import { quoteText } from '../upstream-location.ts';
import { createFingerprint, UpstreamError, type UpstreamAdapter, type UpstreamEntry } from '../upstream.ts';
import { OPEN_REGULAR } from '../../platform/files/open-regular.ts';

const RELEASE_FILE = 'release.json';
const RELEASE_FILE_MAX_BYTES = 4 * 1024 * 1024;

/** Other members are left alone: a tree that is also served to the `manifest` kind lists its entries here. */
const releaseFileSchema = z.object({
  release_id: z.string(),
  app_version: z
    .string()
    .regex(/^[\x21-\x7e]{1,64}$/)
    .nullish(),
});

/**
 * Creates the adapter for a release that lies in a local tree of files. The layout is in
 * `docs/reference/upstream-directory.md`.
 */
export function createDirectoryAdapter(
  configuration: UpstreamConfiguration,
  section: DirectoryConfiguration,
): UpstreamAdapter & { close(): Promise<void> } {
  const { maxEntries } = configuration;
  const rules: WalkRules = {
    ignoredAtRoot: new Set([RELEASE_FILE, section.serverInfoFile]),
    maxNames: maxEntries,
  };
  return {
    kind: 'directory',
    label: section.path,
    probe: async () => {
      try {
        await (await opendir(section.path)).close();
        return { ok: true, message: `${quoteText(section.path)} is readable` };
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
        return { ok: false, message: `${quoteText(section.path)} cannot be read (${code})` };
      }
    },
    fetchCatalog: async (previousEtag, signal) => {
      const root = await resolveRoot(section.path);
      const releaseFile = await readOptional(join(root, RELEASE_FILE), RELEASE_FILE_MAX_BYTES);
      const serverInfo = await readOptional(join(root, section.serverInfoFile), SERVER_INFO_MAX_BYTES);
      if (serverInfo !== null) checkServerInfo(serverInfo, section.serverInfoFile);
      const listing = createListing(releaseFile);
      for await (const file of walkTree(root, rules, signal)) {
        listing.add(file);
        if (listing.count() > maxEntries) throw tooManyEntries(section.path, maxEntries);
      }
      if (listing.count() === 0) throw emptyCatalog(section.path);
      const digest = listing.digest();
      const fingerprint =
        serverInfo === null ? digest : blake3Hex(Buffer.from(`${digest}\n${blake3Hex(serverInfo)}`));
      const etag = `"${fingerprint}${section.releaseId === undefined ? '' : `-${section.releaseId}`}"`;
      if (etag === previousEtag) return null;
      const stated = readReleaseFile(releaseFile);
      const releaseId = chooseReleaseId(
        section.releaseId ?? stated?.release_id ?? `dir-${digest.slice(0, 16)}`,
      );
      return {
        releaseId,
        appVersion: stated?.app_version ?? null,
        serverInfo,
        etag,
        ...readTree({ root, rules, releaseFile, digest, fingerprint }),
      };
    },
    open: async (entry, resume, signal) => openDirectoryEntry(entry, resume, signal),
    close: async () => undefined,
  };
}

interface Tree {
  readonly root: string;
  readonly rules: WalkRules;
  readonly releaseFile: Uint8Array | null;
  readonly digest: string;
  readonly fingerprint: string;
}

function readTree(tree: Tree) {
  const fingerprint = createFingerprint();
  return {
    async *entries(signal: AbortSignal): AsyncGenerator<UpstreamEntry, void> {
      const listing = createListing(tree.releaseFile);
      for await (const file of walkTree(tree.root, tree.rules, signal)) {
        listing.add(file);
        yield {
          destination: file.destination,
          size: file.size,
          digests: {},
          locator: `${file.mtimeNs}:${join(tree.root, file.destination)}`,
        };
      }
      if (listing.digest() !== tree.digest) {
        throw new UpstreamError('catalog_changed', `${quoteText(tree.root)} changed while it was listed`, {
          retryable: true,
        });
      }
      fingerprint.set(tree.fingerprint);
    },
    fingerprint: fingerprint.read,
  };
}

/**
 * Digests what identifies the release of a tree: the release file, then destination, size and modification time of each
 * file. The server-info document is left out, because a release keeps its id when only the document changes.
 */
function createListing(releaseFile: Uint8Array | null): {
  add(file: TreeFile): void;
  count(): number;
  digest(): string;
} {
  const hash = createBlake3();
  let count = 0;
  let pending: string[] = [];
  hash.update(Buffer.from(`${releaseFile?.length ?? 'none'}\n`));
  if (releaseFile !== null) hash.update(releaseFile);
  const flush = (): void => {
    hash.update(Buffer.from(pending.join('')));
    pending = [];
  };
  return {
    add(file) {
      pending.push(`${file.destination}\0${file.size}\0${file.mtimeNs}\n`);
      count += 1;
      if (pending.length === 512) flush();
    },
    count: () => count,
    digest() {
      flush();
      return hash.digest().toString('hex');
    },
  };
}

async function resolveRoot(path: string): Promise<string> {
  let root: string;
  try {
    root = await realpath(path);
    if ((await stat(root)).isDirectory()) return root;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new UpstreamError(
      'upstream_unreachable',
      `${quoteText(path)} cannot be read (${code}): check upstream.directory.path and that it is mounted`,
      { retryable: true, cause: error },
    );
  }
  throw invalidEntry(quoteText(path), 'upstream.directory.path must name a directory');
}

async function readOptional(path: string, maxBytes: number): Promise<Buffer | null> {
  let handle: FileHandle;
  try {
    handle = await open(path, OPEN_REGULAR);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP') throw invalidEntry(quoteText(path), 'it must not be a symbolic link');
    throw failureOfFile(error, path);
  }
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw invalidEntry(quoteText(path), 'it must be a regular file');
    if (stats.size > maxBytes) throw invalidEntry(quoteText(path), `it must not exceed ${maxBytes} bytes`);
    const bytes = Buffer.alloc(stats.size);
    const { bytesRead } = await handle.read(bytes, 0, stats.size, 0);
    return bytes.subarray(0, bytesRead);
  } catch (error) {
    throw failureOfFile(error, path);
  } finally {
    await handle.close();
  }
}

function readReleaseFile(bytes: Buffer | null): z.output<typeof releaseFileSchema> | null {
  if (bytes === null) return null;
  const parsed = releaseFileSchema.safeParse(parseSmallJson(bytes, RELEASE_FILE));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw invalidEntry(RELEASE_FILE, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'malformed'}`);
  }
  return parsed.data;
}

function chooseReleaseId(text: string): ReleaseId {
  const parsed = parseReleaseId(text);
  if (!parsed.ok) throw invalidEntry(quoteText(text), parsed.error);
  return parsed.value;
}
