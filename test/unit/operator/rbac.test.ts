import { describe, expect, it } from 'vitest';
import { ELECTION_RULES, WATCHED_NAMESPACE_RULES, type PolicyRule } from '../../../src/operator/rbac.ts';

const lines = (rules: readonly PolicyRule[]): string[] =>
  rules.flatMap(({ apiGroups, resources, verbs }) =>
    resources.map((resource) => `${verbs.join(',')} ${resource} ${apiGroups.join(',') || 'core'}`),
  );

describe('the permissions of the operator', () => {
  it('are few', () => {
    expect(lines(WATCHED_NAMESPACE_RULES)).toEqual([
      'list,watch,patch releasechannels slipway.dev',
      'patch releasechannels/status slipway.dev',
      'list,watch services core',
      'list,watch endpointslices discovery.k8s.io',
      'get secrets core',
      'create events events.k8s.io',
    ]);
    expect(lines(ELECTION_RULES)).toEqual(['get,create,update leases coordination.k8s.io']);
  });
});
