import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { APP_VERSION_PATTERN, RELEASE_FILE } from '../../contract/formats/release-file-format.ts';
import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';
import { blake3Hex, createBlake3 } from '../../platform/hashing/blake3.ts';
import { boundDocument, readCatalogMembers } from '../catalog-readers/catalog-document.ts';
import { openDirectoryEntry } from './directory-entry.ts';
import { failureOfFile, walkTree, type TreeFile, type WalkRules } from './directory-walk.ts';
import { openOptional, readOptional, resolveTreeRoot } from './tree-files.ts';
import { emptyCatalog, invalidEntry, tooManyEntries } from '../entry-rules.ts';
import { SERVER_INFO_MAX_BYTES } from '../../domain/release/server-info-document.ts';
import { checkServerInfo } from '../http/http-documents.ts';
import type { DirectoryConfiguration, UpstreamConfiguration } from '../upstream-config.ts';
import { quoteText } from '../upstream-location.ts';
import { createFingerprint, UpstreamError, type UpstreamAdapter, type UpstreamEntry } from '../upstream.ts';

/** Other members are left alone: a tree that is also served to the `manifest` kind lists its entries here. */
const releaseFileSchema = z.object({
  release_id: z.string(),
  app_version: z.string().regex(APP_VERSION_PATTERN).nullish(),
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
      const root = await resolveTreeRoot(section.path, 'upstream.directory.path');
      const stated = await readReleaseFile(join(root, RELEASE_FILE), configuration.maxCatalogBytes);
      const serverInfo = await readOptional(join(root, section.serverInfoFile), SERVER_INFO_MAX_BYTES);
      if (serverInfo !== null) checkServerInfo(serverInfo, section.serverInfoFile);
      const listing = createListing(stated?.digest ?? null);
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
      const releaseId = chooseReleaseId(
        section.releaseId ?? stated?.release_id ?? `dir-${digest.slice(0, 16)}`,
      );
      return {
        releaseId,
        appVersion: stated?.app_version ?? null,
        serverInfo,
        etag,
        ...readTree({ root, rules, releaseFileDigest: stated?.digest ?? null, digest, fingerprint }),
      };
    },
    open: async (entry, resume, signal) => openDirectoryEntry(entry, resume, signal),
    close: async () => undefined,
  };
}

interface Tree {
  readonly root: string;
  readonly rules: WalkRules;
  readonly releaseFileDigest: string | null;
  readonly digest: string;
  readonly fingerprint: string;
}

function readTree(tree: Tree) {
  const fingerprint = createFingerprint();
  return {
    async *entries(signal: AbortSignal): AsyncGenerator<UpstreamEntry, void> {
      const listing = createListing(tree.releaseFileDigest);
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
function createListing(releaseFileDigest: string | null): {
  add(file: TreeFile): void;
  count(): number;
  digest(): string;
} {
  const hash = createBlake3();
  let count = 0;
  let pending: string[] = [];
  hash.update(Buffer.from(`${releaseFileDigest ?? 'none'}\n`));
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

interface StatedRelease extends z.output<typeof releaseFileSchema> {
  /** BLAKE3 of the whole file. */
  readonly digest: string;
}

/** Reads the release file, which lists as many entries as the tree has files when it is also served to the `manifest` kind. */
async function readReleaseFile(path: string, maxBytes: number): Promise<StatedRelease | null> {
  const handle = await openOptional(path);
  if (handle === null) return null;
  const hash = createBlake3();
  const values = new Map<string, unknown>();
  const bound = { maxBytes, setting: 'maxCatalogBytes' } as const;
  const chunks = handle.createReadStream() as AsyncIterable<Uint8Array>;
  try {
    const bytes = boundDocument(chunks, RELEASE_FILE, bound, [hash]);
    for await (const batch of readCatalogMembers(bytes, RELEASE_FILE, ['entries'], true)) {
      for (const member of batch)
        if (member.kind === 'value' && Object.hasOwn(releaseFileSchema.shape, member.key))
          values.set(member.key, member.value);
    }
  } catch (error) {
    // A file on disk that ends early does not get longer by asking again.
    if (error instanceof UpstreamError && error.code === 'upstream_truncated')
      throw invalidEntry(RELEASE_FILE, error.message);
    throw failureOfFile(error, path);
  } finally {
    await handle.close();
  }
  const parsed = releaseFileSchema.safeParse(Object.fromEntries(values));
  if (parsed.success) return { ...parsed.data, digest: hash.digest().toString('hex') };
  const [issue] = parsed.error.issues;
  throw invalidEntry(RELEASE_FILE, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'malformed'}`);
}

function chooseReleaseId(text: string): ReleaseId {
  const parsed = parseReleaseId(text);
  if (!parsed.ok) throw invalidEntry(quoteText(text), parsed.error);
  return parsed.value;
}
