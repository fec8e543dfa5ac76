import { collect } from './collect.ts';
import { startUpstreamServer, type UpstreamServer, type UpstreamServerOptions } from './upstream-server.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import {
  createUpstreamAdapter,
  type OwnedUpstreamAdapter,
  type UpstreamAdapterOptions,
} from '../../src/upstream/adapters/connect-upstream.ts';
import {
  upstreamConfigurationSchema,
  type UpstreamConfiguration,
} from '../../src/upstream/upstream-config.ts';
import { UpstreamError, type UpstreamCatalog, type UpstreamEntry } from '../../src/upstream/upstream.ts';
import { onTestFinished } from 'vitest';

/** Parses an `upstream` section with short waits. */
export function configure(section: object): UpstreamConfiguration {
  return upstreamConfigurationSchema.parse({ backoffBaseMs: 1, backoffCapMs: 5, ...section });
}

/** Creates an adapter that is closed when the running test ends. */
export function adapterFor(
  section: object,
  deps: Partial<UpstreamAdapterOptions> = {},
): OwnedUpstreamAdapter {
  const adapter = createUpstreamAdapter(configure(section), { clock: systemClock, ...deps });
  onTestFinished(async () => adapter.close());
  return adapter;
}

/** Starts an upstream server that is closed when the running test ends. */
export async function serve(options: UpstreamServerOptions): Promise<UpstreamServer> {
  const server = await startUpstreamServer(options);
  onTestFinished(async () => server.close());
  return server;
}

/** A signal that is never aborted. */
export function freeSignal(): AbortSignal {
  return new AbortController().signal;
}

/** Fetches a catalog that must have changed, and all of its entries. */
export async function readAll(
  adapter: OwnedUpstreamAdapter,
): Promise<{ catalog: UpstreamCatalog; entries: UpstreamEntry[] }> {
  const catalog = await adapter.fetchCatalog(null, freeSignal());
  if (catalog === null) throw new Error('upstream claims that nothing changed');
  return { catalog, entries: await collect(catalog.entries(freeSignal())) };
}

/** Reads the whole body of an entry. */
export async function readBody(adapter: OwnedUpstreamAdapter, entry: UpstreamEntry): Promise<Buffer> {
  const body = await adapter.open(entry, { start: 0, validator: null }, freeSignal());
  return Buffer.concat(await collect(body.chunks));
}

/** The UpstreamError that a promise rejects with. */
export async function upstreamErrorOf(promise: Promise<unknown>): Promise<UpstreamError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof UpstreamError) return error;
    throw error;
  }
  throw new Error('nothing failed');
}
