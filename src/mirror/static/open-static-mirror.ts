import {
  parseStaticMirror,
  STATIC_MIRROR_FILE,
  STATIC_MIRROR_MAX_BYTES,
  staticFilePath,
  staticManifestPath,
  staticServerInfoPath,
  type StaticMirror,
} from '../../contract/formats/static-mirror-format.ts';
import { manifestDigestOf, type Blake3Hex } from '../../domain/release/digest.ts';
import { encodePath } from '../../domain/release/encode-path.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import { SERVER_INFO_MAX_BYTES } from '../../domain/release/server-info-document.ts';
import { collectBounded } from '../../platform/memory/collect-bounded.ts';
import type { SourceManifest, SourceRelease } from '../attested-source.ts';
import { BundleError } from '../bundle/bundle-error.ts';
import { readManifestText } from '../manifest-text.ts';
import { MirrorError } from '../mirror-error.ts';
import type { SendHttp } from '../slipway-source.ts';

/** A static mirror on a web server. Nothing that it gives has been verified. */
export interface OpenStaticMirror extends StaticMirror {
  /** Describes a release that the mirror has. Throws MirrorError when that is malformed. */
  manifest(release: SourceRelease, signal: AbortSignal): Promise<SourceManifest>;
  urlOf(entry: ManifestEntry): string;
}

/**
 * Asks a web server for the static mirror below a URL.
 *
 * @param url without a trailing slash
 * @returns `null` when its `mirror.json` is of something else
 * @throws MirrorError `origin_malformed` when it is damaged; what `send` throws when it is not there
 */
export async function openStaticMirror(
  url: string,
  send: SendHttp,
  signal: AbortSignal,
): Promise<OpenStaticMirror | null> {
  const get = async (path: string): Promise<AsyncIterable<Uint8Array>> =>
    (await send({ method: 'GET', url: `${url}/${path}`, accept: [200] }, signal)).chunks();
  const small = async (path: string, maxBytes: number): Promise<Buffer> =>
    await collectBounded(await get(path), maxBytes, () =>
      malformed(`${url}/${path} has more than ${maxBytes} bytes`),
    );
  const text = await small(STATIC_MIRROR_FILE, STATIC_MIRROR_MAX_BYTES);
  const mirror = parseStaticMirror(text.toString('utf8'));
  if (mirror === null) return null;
  if (!mirror.ok) throw malformed(`${url}: ${mirror.error}`);
  return {
    ...mirror.value,
    manifest: async ({ attested }) => {
      const path = staticManifestPath(manifestDigestOf(attested.snapshot_id) ?? ('' as Blake3Hex));
      const { server_info: document } = attested;
      try {
        const { header, pages } = await readManifestText(await get(path), `${url}/${path}`);
        return {
          header,
          pages: withMirrorErrors(pages),
          serverInfo:
            document === null
              ? null
              : await small(staticServerInfoPath(document.blake3), SERVER_INFO_MAX_BYTES),
        };
      } catch (error) {
        throw asMirrorError(error);
      }
    },
    urlOf: ({ destination, blake3 }) => `${url}/${encodePath(staticFilePath(destination, blake3))}`,
  };
}

async function* withMirrorErrors(pages: SourceManifest['pages']): SourceManifest['pages'] {
  try {
    yield* pages;
  } catch (error) {
    throw asMirrorError(error);
  }
}

function asMirrorError(error: unknown): unknown {
  return error instanceof BundleError ? malformed(error.message) : error;
}

function malformed(message: string): MirrorError {
  return new MirrorError('origin_malformed', message);
}
