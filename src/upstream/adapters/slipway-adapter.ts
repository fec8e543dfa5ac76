import { readTokenFile } from '../../platform/files/token-file.ts';
import { backoffMs } from '../../platform/process/backoff.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import type { NoteWait } from '../../mirror/attested-source.ts';
import { createSlipwaySource } from '../../mirror/slipway-source.ts';
import { readConfiguredKeys, type AttestedUpstream } from '../attested/attested-upstream.ts';
import { createUpstreamHttpClient, type UpstreamHttpClient } from '../http/http-client.ts';
import { probeUrl } from '../http/http-documents.ts';
import { openHttpEntry } from '../http/http-entry.ts';
import type { SlipwayConfiguration, UpstreamConfiguration } from '../upstream-config.ts';
import { parseUpstreamLocation, redactUrl, withNewAuthorization } from '../upstream-location.ts';
import { UpstreamError, type UpstreamAdapter } from '../upstream.ts';

interface SlipwayAdapterOptions {
  readonly clock: Clock;
  readonly random: () => number;
}

/**
 * Sends the request of a page again when the origin says when to. A limit of the origin that is reached in the middle of a manifest of
 * many pages must not throw away the pages before. Files are retried by their downloader, and polls of the origin by its follower.
 */
async function patiently<T>(
  { maxAttempts, backoffBaseMs: baseMs, backoffCapMs: capMs }: UpstreamConfiguration,
  { clock, random }: SlipwayAdapterOptions,
  { signal, noteWait }: { readonly signal: AbortSignal; readonly noteWait: NoteWait | undefined },
  send: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      const askedMs = error instanceof UpstreamError ? error.retryAfterMs : null;
      if (askedMs === null || attempt === maxAttempts) throw error;
      // All edges that share a token hear the same wait, and must not come back together.
      const waitMs = askedMs + backoffMs(attempt, { baseMs, capMs }, random(), null);
      noteWait?.(messageOf(error), waitMs);
      await clock.sleep(waitMs, signal);
    }
  }
}

export function createSlipwayAdapter(
  configuration: UpstreamConfiguration,
  section: SlipwayConfiguration,
  options: SlipwayAdapterOptions,
): UpstreamAdapter & { readonly attested: AttestedUpstream; close(): Promise<void> } {
  const { tokenFile, allowOtherOrigins } = section;
  const { location, authorize } = withNewAuthorization(parseUpstreamLocation(section.url));
  const http = createUpstreamHttpClient({ configuration, location, allowOtherOrigins, clock: options.clock });
  const client: UpstreamHttpClient = {
    ...http,
    send: async (request, signal) => {
      if (tokenFile !== undefined) authorize(`Bearer ${await readTokenFile(tokenFile)}`);
      return await http.send(request, signal);
    },
  };
  const label = redactUrl(location.url);
  const source = createSlipwaySource({
    url: location.url,
    label,
    send: async (request, signal) => await client.send(request, signal),
    sendPage: async (request, signal, noteWait) =>
      await patiently(
        configuration,
        options,
        { signal, noteWait },
        async () => await client.send(request, signal),
      ),
  });
  return {
    kind: 'slipway',
    label,
    attested: {
      source,
      channels: section.channels,
      pollMs: section.pollSeconds * 1000,
      maxAgeSeconds: section.maxAttestationAgeSeconds,
      trustedKeys: async () => await readConfiguredKeys(section.trustedKeys),
    },
    probe: async (signal) => await probeUrl(client, `${location.url}/v1/release`, signal),
    fetchCatalog: async () => {
      throw new UpstreamError(
        'catalog_invalid',
        `${label} has no catalog: an edge copies the releases of its origin as they are signed; run sync`,
      );
    },
    open: async (entry, resume, signal) => await openHttpEntry(client, entry, entry.locator, resume, signal),
    close: async () => await client.close(),
  };
}
