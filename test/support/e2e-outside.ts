import type { E2eCluster } from './e2e-cluster.ts';

/** A pod that is both the client and the upstream of every installation, with one path for each. */
const OUTSIDE_SCRIPT = `
import http from 'node:http';
import { createHash } from 'node:crypto';
const film = Buffer.alloc(8 * 1024 * 1024, 'slipway ');
const text = Buffer.from('{"text":"resource"}');
const files = new Map([['film.mp4', film], ['text.json', text]]);
const entries = [...files].map(([destination, bytes]) => ({
  destination, size: bytes.length, digests: { sha256: createHash('sha256').update(bytes).digest('hex') },
}));
const open = new Set();
http.createServer((request, response) => {
  const [, release, name] = request.url.split('/');
  if (name === 'open') open.add(release);
  if (name === 'close') open.delete(release);
  if (!open.has(release)) return response.writeHead(404).end();
  if (name === 'release.json') return response.end(JSON.stringify({ release_id: 'R-' + release, entries }));
  response.end(files.get(name) ?? '');
}).listen(9000, () => console.log('listening'));
process.on('SIGTERM', () => process.exit(0));
`;

/** Sends requests on new connections until its input ends, and counts the failures. */
export const LOAD_SCRIPT = `
import http from 'node:http';
const url = process.argv[1];
let isOver = false, answered = 0;
const lost = [];
process.stdin.once('data', () => { isOver = true; process.stdin.pause(); });
const ask = () => new Promise((resolve) => {
  const request = http.get(url, { agent: false }, (response) => {
    if (response.statusCode !== 200) lost.push(String(response.statusCode));
    else answered += 1;
    response.resume().once('close', resolve);
  });
  request.once('error', (error) => { lost.push(error.message); resolve(); });
});
console.log('begun');
await Promise.all(Array.from({ length: 4 }, async () => { while (!isOver) await ask(); }));
console.log(JSON.stringify({ answered, lost }));
`;

/** The pod and its Service, both named `outside`. */
export function outsideObjects(namespace: string, image: E2eCluster['image']): object {
  const metadata = { name: 'outside', namespace, labels: { app: 'outside' } };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: {
      enableServiceLinks: false,
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'outside',
          image: `${image.repository}:${image.tag}`,
          imagePullPolicy: image.pullPolicy,
          command: ['node', '--input-type=module', '-e', OUTSIDE_SCRIPT],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { selector: { app: 'outside' }, ports: [{ port: 9000 }] },
  };
  return { apiVersion: 'v1', kind: 'List', items: [pod, service] };
}
