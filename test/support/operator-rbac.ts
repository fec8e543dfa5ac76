import { API_GROUP, RELEASE_CHANNEL_PLURAL } from '../../src/contract/crd/resource-names.ts';

/** A rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/**
 * The permissions in the namespaces that the operator watches. Roles cannot follow the references of ReleaseChannels, so the
 * Secrets are listed.
 *
 * @param tokenSecrets names of the Secrets that channels name in `adminTokenSecretRef`
 */
export function watchedNamespaceRules(tokenSecrets: readonly string[]): readonly PolicyRule[] {
  return [
    { apiGroups: [API_GROUP], resources: [RELEASE_CHANNEL_PLURAL], verbs: ['list', 'watch'] },
    { apiGroups: [API_GROUP], resources: [`${RELEASE_CHANNEL_PLURAL}/status`], verbs: ['patch'] },
    { apiGroups: [''], resources: ['services'], verbs: ['list', 'watch'] },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
    { apiGroups: [''], resources: ['secrets'], resourceNames: tokenSecrets, verbs: ['get'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
  ];
}

/**
 * The permissions in its own namespace, for the leader election. A name cannot restrict create.
 *
 * @param lease name of the Lease
 */
export function electionRules(lease: string): readonly PolicyRule[] {
  const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
  return [
    { ...leases, resourceNames: [lease], verbs: ['get', 'update'] },
    { ...leases, verbs: ['create'] },
  ];
}
