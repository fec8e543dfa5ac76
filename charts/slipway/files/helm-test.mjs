/**
 * What `helm test` runs in the image of the service: it does what a client and an administrator do.
 *
 * Settings are environment variables: SERVICE_URL and ADMIN_URL (roots of the two Services), CDN_HOST (first segment of resource
 * paths), ADMIN_TOKEN, PUBLIC_NEEDS_TOKEN ("true" if reads need one, too) and PATIENCE_SECONDS (how long to wait for a Service). EDGE_URL
 * (root of the Service of the edges) and EDGE_TOKEN are set where there are edges.
 * It ends with 0 and one line on stdout, or with 1 and the reason on stderr.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import process from 'node:process';
import { createBLAKE3 } from 'hash-wasm';

/** Larger entries are not fetched whole. */
const MAX_BYTES = 64 * 1024 * 1024;
const { SERVICE_URL, ADMIN_URL, CDN_HOST, PUBLIC_NEEDS_TOKEN, PATIENCE_SECONDS = '120' } = process.env;
const { ADMIN_TOKEN, EDGE_URL, EDGE_TOKEN } = process.env;
const bearer = (token) => ({ authorization: `Bearer ${token}` });
const reading = (token) => (PUBLIC_NEEDS_TOKEN === 'true' ? bearer(token) : {});
const admin = bearer(ADMIN_TOKEN);
/** A pod that is not ready is behind the Service of the admin surface only, and says there why. */
const origin = { url: SERVICE_URL, reader: reading(ADMIN_TOKEN), explainer: ADMIN_URL };
const edge = { url: EDGE_URL, reader: reading(EDGE_TOKEN) };

async function request(url, headers, expected) {
  const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(20_000) });
  if (response.status === expected) return response;
  const text = (await response.text()).slice(0, 2000);
  const error = new Error(`${url} answered ${response.status}, expected ${expected}: ${text}`);
  throw Object.assign(error, { status: response.status });
}

/** Names and addresses of a Service that was just created take a moment to be known. */
const waitUntilReady = ({ url, reader, explainer }, isExpected = () => true) =>
  patiently(async () => {
    const answer = await request(`${url}/readyz`, reader, 200).catch(async (error) => {
      // Another answer than 503 is not about a release that is missing. A pod that is not ready may not be reachable at all.
      const mayExplain = error.status === undefined || error.status === 503;
      const explanation = mayExplain ? await explanationOf(explainer) : null;
      if (explanation === null) throw error;
      throw new Error(`${explanation} (${error.cause?.message ?? error.message})`);
    });
    const ready = await answer.json();
    if (isExpected(ready)) return ready;
    throw new Error(`${url} serves release ${ready.release_id}`);
  });

/** The state, its cause and the next step, as all surfaces say it; `null` where none of it can be learned. */
async function explanationOf(url) {
  try {
    const { service } = await (await request(`${url}/healthz`, {}, 200)).json();
    return service.next_step === null ? null : `${service.state}: ${service.message}. Next: ${service.next_step.text}`;
  } catch {
    return null;
  }
}

/** Repeats a step until it succeeds, fails for a lasting cause, or the patience ends. */
async function patiently(step, mayPass = () => true) {
  const until = performance.now() + Number(PATIENCE_SECONDS) * 1000;
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!mayPass(error) || performance.now() >= until) throw error;
      process.stderr.write(`not ready yet: ${error.cause?.message ?? error.message}\n`);
      await sleep(1000);
    }
  }
}

/** Fetches the smallest of the first entries as a range, and compares its digest with that of the manifest. */
async function checkBytes({ url, reader }, releaseId) {
  const page = await (await request(`${url}/v1/resources?limit=100`, reader, 200)).json();
  const [entry] = page.items.filter(({ size }) => size > 0).sort((left, right) => left.size - right.size);
  if (entry === undefined) return page.total;
  const path = entry.destination.split('/').map(encodeURIComponent).join('/');
  const last = Math.min(entry.size, MAX_BYTES) - 1;
  const range = { ...reader, range: `bytes=0-${last}` };
  const part = await request(`${url}/${CDN_HOST}/${releaseId}/${path}`, range, 206);
  const bytes = new Uint8Array(await part.arrayBuffer());
  if (bytes.length !== last + 1) throw new Error(`${path}: a range of ${last + 1} bytes gave ${bytes.length}`);
  if (bytes.length < entry.size) return page.total;
  const digest = (await createBLAKE3()).init().update(bytes).digest('hex');
  if (digest !== entry.blake3) throw new Error(`${path}: its bytes have digest ${digest}, the manifest says ${entry.blake3}`);
  return page.total;
}

/**
 * The administration needs a token, and takes this one. The daemon of a new pod waits until the one of the old pod has ended, and
 * says so.
 */
async function checkAdmin() {
  await request(`${ADMIN_URL}/admin/releases/status`, {}, 401);
  await patiently(() => request(`${ADMIN_URL}/admin/releases/status`, admin, 200), ({ status }) => status === 503);
}

try {
  const { release_id: releaseId } = await waitUntilReady(origin);
  const total = await checkBytes(origin, releaseId);
  await checkAdmin();
  process.stdout.write(`release ${releaseId} is served: ${total} entries\n`);
  if (EDGE_URL !== undefined) {
    // An edge learns of a release a moment after its origin.
    await waitUntilReady(edge, (ready) => ready.release_id === releaseId);
    await checkBytes(edge, releaseId);
    process.stdout.write(`edges serve release ${releaseId}\n`);
  }
} catch (error) {
  process.stderr.write(`${error.message}${error.cause === undefined ? '' : `: ${error.cause.message}`}\n`);
  process.exitCode = 1;
}
