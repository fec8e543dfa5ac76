import { createHash } from 'node:crypto';
import { parseDestination } from '../../src/domain/release/destination.ts';
import type { ReleaseId } from '../../src/domain/release/release-id.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import {
  UpstreamError,
  type UpstreamAdapter,
  type UpstreamBody,
  type UpstreamCatalog,
  type UpstreamEntry,
} from '../../src/upstream/upstream.ts';

/** The digests that the catalog states. */
type Stated = 'blake3' | 'sha256' | 'md5' | 'none';

/** An upstream in memory that a test changes. */
export class ScriptedUpstream implements UpstreamAdapter {
  readonly kind = 'scripted';
  label = 'memory://upstream';
  releaseId = '1.0';
  appVersion: string | null = '1.0.0';
  serverInfo: Buffer | null = Buffer.from('{"ConnectionGroups":[]}');
  stated: Stated = 'blake3';
  /** By destination. */
  files = new Map<string, string | Buffer>();
  /** Entries that the catalog lists behind those of the files. */
  readonly listedAgain: UpstreamEntry[] = [];
  /** Entries that the settings leave out. */
  excludedCount = 0;
  /** Bytes sent in place of the files of a catalog, by destination; null is "not found". */
  readonly sent = new Map<string, string | Buffer | null>();
  /** Whether catalogs have validators. */
  validators = true;
  /** Destinations opened, in order. */
  readonly opened: string[] = [];
  catalogsRead = 0;
  /** Runs once while the next catalog is read. */
  whileRead: (() => Promise<void>) | null = null;
  /** Runs before a file is sent. */
  onOpen: (destination: string) => void = () => undefined;
  failure: UpstreamError | null = null;
  /** Bytes after which the connection of each file breaks. */
  breaksAfter = Infinity;
  /** Where each request for a file began. */
  readonly starts: number[] = [];

  async probe(): Promise<{ ok: boolean; message: string }> {
    return { ok: this.failure === null, message: this.failure?.message ?? 'it answers' };
  }

  async fetchCatalog(previousEtag: string | null): Promise<UpstreamCatalog | null> {
    if (this.failure !== null) throw this.failure;
    const { whileRead } = this;
    this.whileRead = null;
    await whileRead?.();
    const entries = [...this.entries(), ...this.listedAgain];
    const { excludedCount } = this;
    const fingerprint = blake3Hex(
      Buffer.from(JSON.stringify([this.releaseId, this.appVersion, this.serverInfo, entries, excludedCount])),
    );
    const etag = this.validators ? `"${fingerprint}"` : null;
    if (etag !== null && etag === previousEtag) return null;
    this.catalogsRead += 1;
    return {
      releaseId: this.releaseId as ReleaseId,
      appVersion: this.appVersion,
      serverInfo: this.serverInfo,
      etag,
      entries: async function* all() {
        yield* entries;
      },
      fingerprint: () => fingerprint,
      excluded: () => excludedCount,
    };
  }

  async open(entry: UpstreamEntry, resume: { readonly start: number }): Promise<UpstreamBody> {
    this.opened.push(entry.destination);
    this.starts.push(resume.start);
    this.onOpen(entry.destination);
    const replaced = this.sent.get(entry.destination);
    const content = replaced === undefined ? this.files.get(entry.destination) : replaced;
    if (content === undefined || content === null) {
      throw new UpstreamError('upstream_not_found', `${entry.destination} is not there`, {
        retryable: false,
      });
    }
    const bytes = Buffer.from(content);
    const { breaksAfter } = this;
    return {
      start: resume.start,
      totalSize: bytes.length,
      validator: `"${blake3Hex(bytes)}"`,
      chunks: (async function* all() {
        yield bytes.subarray(resume.start, breaksAfter);
        if (breaksAfter < bytes.length) {
          throw new UpstreamError('upstream_unreachable', 'the connection broke', { retryable: true });
        }
      })(),
    };
  }

  entries(): UpstreamEntry[] {
    return [...this.files].map(([name, content]) => {
      const destination = parseDestination(name);
      if (!destination.ok) throw new Error(destination.error);
      const bytes = Buffer.from(content);
      return {
        destination: destination.value,
        size: bytes.length,
        digests: this.#digests(bytes),
        locator: name,
      };
    });
  }

  #digests(bytes: Buffer): UpstreamEntry['digests'] {
    switch (this.stated) {
      case 'blake3':
        return { blake3: blake3Hex(bytes) };
      case 'none':
        return {};
      default:
        return { [this.stated]: createHash(this.stated).update(bytes).digest('hex') };
    }
  }
}
