import { PUBLIC_OPERATIONS } from '../../../contract/operations/operations-public.ts';
import { ServiceError } from '../../../contract/problems/service-error.ts';
import { SERVER_INFO_NAME, type ServerInfoDocument } from '../../../domain/release/server-info-document.ts';
import { jsonHeaders, NO_CACHE } from '../../http/answer.ts';
import { notDistributable, requireCurrent } from '../../http/not-distributable.ts';
import { publicRoute, type PublicRoute } from '../../http/public-route.ts';
import type { PublicParts } from '../public-parts.ts';
import { chosenChannel } from '../../serving/channel-choice.ts';
import type { ServedRelease } from '../../serving/serving.ts';
import { readVerifiedDocument } from '../../serving/verified-document.ts';
import { rewriteServerInfo } from './rewrite-server-info.ts';

/** Rewritten documents that are kept: a current and a previous release of each channel. */
const MAX_CACHED = 4;

/**
 * `/v1/server-info`. It answers 503 `not_distributable` while the selected release or its document must not be served, and 404
 * `no_server_info` when the release has no document.
 */
export function serverInfoRoute({
  serving,
  urls,
  objects,
  config: { serverInfo },
}: PublicParts): PublicRoute {
  const rewritten = new Map<string, Promise<Buffer>>();

  const select = (): ServedRelease =>
    requireCurrent(serving, chosenChannel(serving, serverInfo.channel)).release;

  const rewrite = async (
    { releaseId, channel }: ServedRelease,
    document: ServerInfoDocument,
  ): Promise<Buffer> => {
    const found = await readVerifiedDocument(objects, document);
    if (!found.ok) {
      serving.reportDamage({
        destination: SERVER_INFO_NAME,
        blake3: document.blake3,
        kind: found.error.kind,
        message: found.error.message,
        found_by: 'client',
      });
      throw notDistributable(serving.verdict(channel));
    }
    const text = rewriteServerInfo(found.value, {
      root: urls.releaseRoot(releaseId),
      keepOverrides: serverInfo.keepOverrides,
    });
    if (text.ok) return Buffer.from(text.value);
    throw new ServiceError('internal_error', 'The server-info document of the release cannot be rewritten.', {
      internal: `server-info ${document.blake3} of release ${releaseId}: ${text.error}`,
    });
  };

  /** Concurrent requests share one rewriting, so that at most a few documents are in memory. */
  const render = async (release: ServedRelease): Promise<Buffer> => {
    const { document, releaseId } = release;
    if (document === null)
      throw new ServiceError('no_server_info', `Release ${releaseId} has no server-info document.`);
    const key = `${document.blake3} ${releaseId}`;
    const known = rewritten.get(key);
    if (known !== undefined) return await known;
    const bytes = rewrite(release, document);
    const oldest = rewritten.keys().next();
    if (rewritten.size >= MAX_CACHED && oldest.done !== true) rewritten.delete(oldest.value);
    rewritten.set(key, bytes);
    try {
      return await bytes;
    } catch (error) {
      if (rewritten.get(key) === bytes) rewritten.delete(key);
      throw error;
    }
  };

  return publicRoute(PUBLIC_OPERATIONS.getServerInfo, async () => {
    const release = select();
    const bytes = await render(release);
    const servable = serving.servable(release);
    if (!servable.ok) throw notDistributable(serving.verdict(release.channel));
    return { status: 200, headers: jsonHeaders(NO_CACHE), body: [bytes] };
  });
}
