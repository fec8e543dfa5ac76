import type { SlipwaySite } from './bytes/slipway-site.ts';

/**
 * Sends a request to the daemon of a site.
 *
 * @param path below `/v1/`
 * @param body of a POST; without it the request is a GET
 * @throws Error when it is refused
 */
export async function askSite({ daemonUrl }: SlipwaySite, path: string, body?: object): Promise<unknown> {
  const order = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const answer = await fetch(`${daemonUrl}/v1/${path}`, body === undefined ? {} : order);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return await answer.json();
}
