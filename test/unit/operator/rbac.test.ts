import { describe, expect, it } from 'vitest';
import { electionRules, watchedNamespaceRules, type PolicyRule } from '../../../src/operator/rbac.ts';

const lines = (rules: readonly PolicyRule[]): string[] =>
  rules.flatMap(({ apiGroups, resources, resourceNames = ['any'], verbs }) =>
    resources.map((resource) =>
      [verbs.join(','), resource, apiGroups.join(',') || 'core', ...resourceNames].join(' '),
    ),
  );

describe('the permissions of the operator', () => {
  it('are few', () => {
    expect(lines(watchedNamespaceRules(['token-a', 'token-b']))).toEqual([
      'list,watch,patch releasechannels slipway.dev any',
      'patch releasechannels/status slipway.dev any',
      'list,watch services core any',
      'list,watch endpointslices discovery.k8s.io any',
      'get secrets core token-a token-b',
      'create events events.k8s.io any',
    ]);
    expect(lines(electionRules('lease'))).toEqual([
      'get,update leases coordination.k8s.io lease',
      'create leases coordination.k8s.io any',
    ]);
  });
});
