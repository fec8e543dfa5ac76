import { describe, expect, it } from 'vitest';
import { parseSlice } from '../../../../src/operator/kubernetes/objects.ts';

function stateOf(conditions: object | undefined): string | undefined {
  const slice = parseSlice({
    metadata: { namespace: 'ns', labels: { 'kubernetes.io/service-name': 'slipway' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints: [{ addresses: ['10.0.0.1'], conditions, targetRef: { name: 'a' } }],
  });
  return slice.endpoints[0]?.state;
}

describe('an endpoint', () => {
  it.each([
    ['without conditions', undefined, 'ready'],
    ['of a ready pod', { ready: true, serving: true, terminating: false }, 'ready'],
    ['of an unready pod', { ready: false, serving: false, terminating: false }, 'unready'],
    ['that says only that it is not ready', { ready: false }, 'unready'],
    ['that a Service publishes although the pod is not ready', { ready: true, serving: false }, 'unready'],
    ['of a pod that shuts down and answers', { ready: false, serving: true, terminating: true }, 'draining'],
    ['of a pod that shuts down', { ready: false, serving: false, terminating: true }, undefined],
  ])('%s is %j: %s', (_what, conditions, state) => {
    expect(stateOf(conditions)).toBe(state);
  });
});
