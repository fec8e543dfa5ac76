import type { E2eCluster } from './e2e-cluster.ts';

/** A pod that is both the client and the upstream of every installation, with one path for each. */
const OUTSIDE_SCRIPT = `
import http from 'node:http';
import { createHash } from 'node:crypto';
const film = Buffer.alloc(8 * 1024 * 1024, 'slipway ');
const fileOf = (release, name) => (name === 'film.mp4' ? film : Buffer.from('{"text":"resource of ' + release + '"}'));
const entriesOf = (release) => ['film.mp4', 'text.json'].map((destination) => {
  const bytes = fileOf(release, destination);
  return { destination, size: bytes.length, digests: { sha256: createHash('sha256').update(bytes).digest('hex') } };
});
const open = new Map();
http.createServer((request, response) => {
  const [, upstream, name, next] = request.url.split('/');
  if (name === 'open') open.set(upstream, next);
  if (name === 'close') open.delete(upstream);
  const release = open.get(upstream);
  if (release === undefined) return response.writeHead(404).end();
  if (name === 'release.json') {
    return response.end(JSON.stringify({ release_id: release, entries: entriesOf(release) }));
  }
  response.end(fileOf(release, name));
}).listen(9000, () => console.log('listening'));
process.on('SIGTERM', () => process.exit(0));
`;

/**
 * Sends requests until its input ends, and counts them: four clients with a new connection for each request, and eight that
 * keep theirs and pause for random times. No request is sent twice. Its arguments are a URL, and by what the pauses are multiplied.
 */
export const LOAD_SCRIPT = `
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
const [url, calm] = process.argv.slice(1);
let isOver = false;
const counts = { single: 0, kept: 0, lost: [] };
process.stdin.once('data', () => { isOver = true; process.stdin.pause(); });
const ask = (kind, agent) => new Promise((resolve) => {
  const lose = (why) => { counts.lost.push(new Date().toISOString() + ' ' + kind + ': ' + why); resolve(); };
  const request = http.get(url, { agent }, (response) => {
    let bytes = 0;
    response.on('data', (chunk) => { bytes += chunk.length; });
    response.once('error', (error) => lose(error.message));
    response.once('end', () => {
      const isWhole = response.statusCode === 200 && bytes === Number(response.headers['content-length']);
      if (!isWhole) return lose(response.statusCode + ' with ' + bytes + ' bytes');
      counts[kind] += 1;
      resolve();
    });
  });
  request.once('error', (error) => lose(error.message));
});
const run = async (kind, agent, pauseMs) => {
  while (!isOver) {
    await ask(kind, agent);
    await delay(Math.random() * pauseMs * Number(calm));
  }
  if (agent !== false) agent.destroy();
};
console.log('begun');
await Promise.all([
  ...Array.from({ length: 4 }, () => run('single', false, 20)),
  ...Array.from({ length: 8 }, () => run('kept', new http.Agent({ keepAlive: true, maxSockets: 1 }), 40)),
]);
console.log(JSON.stringify(counts));
`;

/**
 * Opens four downloads and reads the beginning of each; when a line comes on its input, it reads the rest and prints the sizes. Its argument
 * is a URL.
 */
export const HELD_DOWNLOADS_SCRIPT = `
import http from 'node:http';
import { once } from 'node:events';
const responses = await Promise.all(Array.from({ length: 4 }, async () => {
  const [response] = await once(http.get(process.argv[1], { agent: false }), 'response');
  response.on('error', () => {});
  return response;
}));
console.log('begun');
process.stdin.resume();
await once(process.stdin, 'data');
process.stdin.pause();
const sizes = await Promise.all(responses.map(async (response) => {
  let bytes = 0;
  try {
    for await (const chunk of response) bytes += chunk.length;
  } catch (error) {
    return error.message + ' after ' + bytes;
  }
  return bytes;
}));
console.log(JSON.stringify(sizes));
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
