import { API_GROUP, RELEASE_CHANNEL_PLURAL } from '../contract/crd/resource-names.ts';

/** A rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** The permissions in the namespaces that the operator watches. Secrets are only read by name. */
export const WATCHED_NAMESPACE_RULES: readonly PolicyRule[] = [
  { apiGroups: [API_GROUP], resources: [RELEASE_CHANNEL_PLURAL], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: [API_GROUP], resources: [`${RELEASE_CHANNEL_PLURAL}/status`], verbs: ['patch'] },
  { apiGroups: [''], resources: ['services'], verbs: ['list', 'watch'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
];

/** The permissions in its own namespace, for the leader election. */
export const ELECTION_RULES: readonly PolicyRule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
];
