import {
  CoreV1Api,
  CustomObjectsApi,
  DiscoveryV1Api,
  type ConfigurationOptions,
} from '@kubernetes/client-node';
import { z } from 'zod';
import { API_GROUP, API_VERSION, RELEASE_CHANNEL_PLURAL } from '../../contract/crd/resource-names.ts';
import type { ClusterConnection } from '../../platform/kubernetes/cluster-connection.ts';

/** Plural names of the kinds that the operator follows. */
export const COLLECTION_KINDS = [RELEASE_CHANNEL_PLURAL, 'services', 'endpointslices'] as const;

export interface CollectionPage {
  readonly resourceVersion: string;
  readonly items: readonly unknown[];
  /** Token for the next page; `null` on the last one. */
  readonly next: string | null;
}

export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

/** The objects of one kind, in one namespace or in all. */
export interface Collection {
  /** Plural name of the kind, for logs and readiness. */
  readonly kind: string;
  /** Reads a page. @throws KubernetesError, HttpFailure, the reason of the signal */
  list(
    page: { readonly limit: number; readonly after: string | null },
    signal: AbortSignal,
  ): Promise<CollectionPage>;
  /**
   * Opens a watch; the events end when the API server ends it.
   *
   * @param onOpen called when the API server has accepted the watch, which may be long before the first event
   * @throws KubernetesError, network errors, also after some events
   */
  watch(
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
    onOpen: () => void,
  ): AsyncGenerator<WatchEvent, void, undefined>;
}

export interface Collections {
  readonly channels: (namespace: string | null) => Collection;
  readonly services: (namespace: string | null) => Collection;
  readonly endpointSlices: (namespace: string | null) => Collection;
}

/** A list as the library returns it: typed for kinds that it knows, as JSON for others. */
const ListSchema = z.object({
  metadata: z.object({
    resourceVersion: z.string(),
    _continue: z.string().optional(),
    continue: z.string().optional(),
  }),
  items: z.array(z.unknown()).nullish(),
});
const EventLine = z.object({ type: z.string(), object: z.unknown() });

/** The collections of a cluster. */
export function collectionsOf(connection: ClusterConnection): Collections {
  const core = connection.api(CoreV1Api);
  const discovery = connection.api(DiscoveryV1Api);
  const custom = connection.api(CustomObjectsApi);

  type Page = { readonly limit: number; readonly _continue?: string };
  const collection = (
    kind: string,
    root: string,
    namespace: string | null,
    list: (page: Page, call: ConfigurationOptions) => Promise<unknown>,
  ): Collection => ({
    kind,
    list: async ({ limit, after }, signal) => {
      const page = { limit, ...(after === null ? {} : { _continue: after }) };
      const { metadata, items } = ListSchema.parse(await list(page, connection.call({ signal })));
      const next = metadata._continue ?? metadata.continue ?? '';
      return {
        resourceVersion: metadata.resourceVersion,
        items: items ?? [],
        next: next === '' ? null : next,
      };
    },
    watch: async function* watch(query, signal, onOpen) {
      const path = namespace === null ? `${root}/${kind}` : `${root}/namespaces/${namespace}/${kind}`;
      const body = await connection.open(path, { ...query, watch: 'true' }, signal);
      onOpen();
      for await (const line of splitLines(body)) yield EventLine.parse(JSON.parse(line));
    },
  });

  const channelKind = { group: API_GROUP, version: API_VERSION, plural: RELEASE_CHANNEL_PLURAL };
  return {
    channels: (namespace) =>
      collection(RELEASE_CHANNEL_PLURAL, `/apis/${API_GROUP}/${API_VERSION}`, namespace, async (page, call) =>
        namespace === null
          ? await custom.listClusterCustomObject({ ...channelKind, ...page }, call)
          : await custom.listNamespacedCustomObject({ ...channelKind, namespace, ...page }, call),
      ),
    services: (namespace) =>
      collection('services', '/api/v1', namespace, async (page, call) =>
        namespace === null
          ? await core.listServiceForAllNamespaces(page, call)
          : await core.listNamespacedService({ namespace, ...page }, call),
      ),
    endpointSlices: (namespace) =>
      collection('endpointslices', '/apis/discovery.k8s.io/v1', namespace, async (page, call) =>
        namespace === null
          ? await discovery.listEndpointSliceForAllNamespaces(page, call)
          : await discovery.listNamespacedEndpointSlice({ namespace, ...page }, call),
      ),
  };
}

/** Largest line of a watch: an object of etcd's limit (1.5 MiB), with room for JSON escapes. */
const LINE_MAX_BYTES = 4 * 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * Splits a byte stream into lines, without the line ends; empty lines are skipped.
 *
 * @throws Error when a line exceeds 4 MiB
 */
async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string, void, undefined> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      held.push(chunk.subarray(from, at));
      const line = Buffer.concat(held).toString('utf8');
      held = [];
      heldBytes = 0;
      from = at + 1;
      if (line.trim() !== '') yield line;
    }
    if (from < chunk.length) {
      held.push(chunk.subarray(from));
      heldBytes += chunk.length - from;
      if (heldBytes > LINE_MAX_BYTES) throw new Error(`a line of the watch exceeds ${LINE_MAX_BYTES} bytes`);
    }
  }
}
