/** Sends actions to the server. */

import { ApiFailure } from '../api/api-client.ts';
import type { Accepted } from '../api/wire.ts';
import type { App } from '../state/app.ts';
import { renderExact } from '../text/exact-json.ts';

/**
 * Sends an action.
 *
 * @param body JSON
 * @param key default: the client keeps one for the same body until it has an answer
 * @throws ApiFailure
 */
export async function postAction(app: App, action: string, body: string, key?: string): Promise<Accepted> {
  return (await app.api.control(`/admin/control/${action}`, body, key)) as Accepted;
}

/**
 * Sends an action whose form is the page itself, and reports its result.
 *
 * @param done shown when it is done
 * @param undo takes it back; offered with `done`
 * @returns whether it was accepted
 */
export async function runAction(
  app: App,
  action: string,
  body: object,
  { done, undo }: { done: string; undo?: () => void },
): Promise<boolean> {
  try {
    await postAction(app, action, renderExact(body));
    app.toast(done, 'ok', undo);
    return true;
  } catch (error) {
    app.toast(failureText(error), 'bad');
    return false;
  } finally {
    app.pool.refresh();
  }
}

function failureText(error: unknown): string {
  if (!(error instanceof ApiFailure)) return String(error);
  const named = (error.problem.errors ?? []).map(({ message }) => message);
  return [error.message, ...named].join(' ');
}
