import { describe, expect, it } from 'vitest';
import type {
  EndpointState,
  ServiceRecord,
  SliceRecord,
} from '../../../../src/operator/kubernetes/objects.ts';
import { edgePods } from '../../../../src/operator/pods/server-pods.ts';

const SERVICE: ServiceRecord = {
  namespace: 'ns',
  name: 'edge',
  edgesOf: 'slipway',
  ports: [
    { name: 'more', port: 81 },
    { name: 'http', port: 80 },
  ],
};

function slice(pods: ReadonlyArray<readonly [string, EndpointState]>, service = 'edge'): SliceRecord {
  return {
    namespace: 'ns',
    service,
    ports: [
      { name: 'more', port: 8081 },
      { name: 'http', port: 8080 },
    ],
    endpoints: pods.map(([name, state], index) => ({ name, address: `10.0.0.${index}`, state })),
  };
}

describe('the edges behind a Service', () => {
  it('are those of its port http in order of name, ready or not', () => {
    const slices = [
      slice([
        ['b', 'unready'],
        ['a', 'ready'],
      ]),
      slice([['c', 'ready']], 'other'),
    ];
    expect(edgePods(SERVICE, slices, null)).toEqual([
      { name: 'a', origin: 'http://10.0.0.1:8080', endpoint: 'ready' },
      { name: 'b', origin: 'http://10.0.0.0:8080', endpoint: 'unready' },
    ]);
  });

  it('are those of its first port if none is named http, and none without a port', () => {
    const unnamed = { ...SERVICE, ports: [{ name: 'more', port: 81 }] };
    expect(edgePods(unnamed, [slice([['a', 'ready']])], '127.0.0.1')).toEqual([
      { name: 'a', origin: 'http://127.0.0.1:8081', endpoint: 'ready' },
    ]);
    expect(edgePods({ ...SERVICE, ports: [] }, [slice([['a', 'ready']])], null)).toEqual([]);
  });
});
