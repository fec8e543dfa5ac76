import { writeTokenFile } from './token-file.ts';
import type { AtEnd } from './shared-fixture.ts';
import {
  startTranslationSystem,
  type Answer,
  type TextFiles,
  type TranslationSystem,
} from './translation-system.ts';

const TOKEN = 'served-translation-token-93';

/** A daemon with translation tasks, behind a server. */
export interface ServedTranslation extends TranslationSystem {
  /** Posts a control action to the server. */
  post(action: string, body: object): Promise<Answer>;
  /** Posts a control action with a body as its text, which may hold integers of 64 bits. */
  postText(action: string, body: string): Promise<Answer>;
  /** Gets a path below `/admin/` of the server. */
  get(path: string): Promise<Answer>;
}

/** Starts the daemon, builds the tasks, and starts the server with an admin token. */
export async function startServedTranslation(
  files: TextFiles,
  daemon: Readonly<Record<string, object>>,
  atEnd?: AtEnd,
): Promise<ServedTranslation> {
  const admin = { tokenFiles: [await writeTokenFile(TOKEN, atEnd)], exposeControl: true };
  const world = await startTranslationSystem(files, daemon, atEnd, { admin });
  const { serverUrl } = world.system;
  await world.system.untilReady(true);
  const ask = async (path: string, init: RequestInit): Promise<Answer> => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const answer = await fetch(`${serverUrl}/admin/${path}`, { ...init, headers });
    const body = (await answer.json()) as Record<string, unknown>;
    return { status: answer.status, headers: answer.headers, body };
  };
  const postText = async (action: string, body: string): Promise<Answer> =>
    await ask(`control/${action}`, { method: 'POST', body });
  return {
    ...world,
    post: async (action, body) => await postText(action, JSON.stringify(body)),
    postText,
    get: async (path) => await ask(path, {}),
  };
}
