import { actionDefinition, CONTROL_ACTIONS } from '../../contract/actions/actions.ts';
import { CONTROL_SCOPES } from '../../contract/schemas/vocabulary.ts';
import type { OperationDefinition } from '../../contract/operations/operation-definition.ts';
import { ADMIN_OPERATIONS } from '../../contract/operations/operations-admin.ts';
import type { AdminIndex } from '../../contract/schemas/answers/admin.ts';
import type { Minute } from '../history/minute-ring.ts';
import type { KeptMinutes } from '../history/server-history.ts';
import type { TokenCaller } from '../http/token-verifier.ts';

/**
 * The body of `/admin/` without history and scrub, made from the operation table.
 *
 * @param links the reads that this server answers
 * @param options.exposed whether control actions are forwarded
 * @param options.caller the holder of the token of the request
 */
export function renderAdminIndex(
  links: ReadonlyArray<OperationDefinition & { readonly id: string }>,
  options: { readonly exposed: boolean; readonly version: string; readonly caller: TokenCaller },
): Omit<AdminIndex, 'history' | 'scrub'> {
  const { path: controlPath } = ADMIN_OPERATIONS.postControl;
  const { exposed, caller } = options;
  const scopes = [...(caller.allow ?? CONTROL_SCOPES)];
  return {
    service: { name: 'slipway', version: options.version },
    control: { exposed, path: controlPath },
    token: { id: caller.tokenId, scopes },
    links: links.map(({ id, path, summary }) => ({ id, path, summary })),
    actions: CONTROL_ACTIONS.map((action) => {
      const { summary, mode, destructive, scope, required, used } = actionDefinition(action);
      return {
        action,
        path: controlPath.replace('{action}', action),
        summary,
        mode,
        destructive,
        allowed: exposed && (scope === 'named' || scopes.includes(scope)),
        required: [...required],
        used: [...used],
      };
    }),
  };
}

/** The member `history` of the body. @param server host name of this server */
export function renderHistory(server: string, { from, minutes }: KeptMinutes): AdminIndex['history'] {
  const column = <T>(valueOf: (minute: Minute) => T | null): (T | null)[] =>
    minutes.map((minute) => (minute === null ? null : valueOf(minute)));
  return {
    server,
    from,
    requests: column(({ traffic }) => traffic?.requests ?? null),
    server_errors: column(({ traffic }) => traffic?.serverErrors ?? null),
    sent_bytes: column(({ traffic }) => traffic?.sentBytes ?? null),
    states: {
      official: column(({ states }) => states.official),
      localized: column(({ states }) => states.localized),
    },
  };
}
