import { CoreV1Api, CustomObjectsApi, DiscoveryV1Api } from '@kubernetes/client-node';
import { z } from 'zod';
import { API_GROUP, API_VERSION, RELEASE_CHANNEL_PLURAL } from '../../contract/crd/resource-names.ts';
import type { ClusterConnection } from '../../platform/kubernetes/cluster-connection.ts';
import { splitLines } from './line-splitter.ts';

/** Plural names of the kinds that the operator follows. */
export const COLLECTION_KINDS = [RELEASE_CHANNEL_PLURAL, 'services', 'endpointslices'] as const;

/** One page of a list. */
export interface CollectionPage {
  readonly resourceVersion: string;
  readonly items: readonly unknown[];
  /** Token for the next page; `null` on the last one. */
  readonly next: string | null;
}

/** One event of a watch. */
export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

/** The objects of one kind, in one namespace or in all. */
export interface Collection {
  /** Plural name of the kind, for logs and readiness. */
  readonly kind: string;
  /**
   * Reads a page.
   *
   * @param after the token of the page before, `null` for the first page
   * @throws KubernetesError, HttpFailure, the reason of the signal
   */
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

/** The collections that the operator follows. */
export interface Collections {
  /** @param namespace `null` for all */
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

/** Gives access to the collections of a cluster. */
export function createCollections(connection: ClusterConnection): Collections {
  const core = connection.api(CoreV1Api);
  const discovery = connection.api(DiscoveryV1Api);
  const custom = connection.api(CustomObjectsApi);

  type Page = { readonly limit: number; readonly _continue?: string };
  type Call = ReturnType<ClusterConnection['call']>;
  const collection = (
    kind: string,
    root: string,
    namespace: string | null,
    list: (page: Page, call: Call) => Promise<unknown>,
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
