import type { ControlAction } from '../../contract/actions/actions.ts';
import type { Logger } from '../../platform/logging/logging.ts';

/** What is known of a control call by its end; `null` where it did not come so far. */
export interface ControlAudit {
  tokenId: string | null;
  /** A name of the allowlist, never the caller's text. */
  action: ControlAction | null;
  /** SHA-256 of the validated body as it was sent on. */
  argsDigest: string | null;
  taskId: string | null;
}

/** An audit of a call that has only begun. */
export function beginControlAudit(): ControlAudit {
  return { tokenId: null, action: null, argsDigest: null, taskId: null };
}

/** What a control call was answered. */
export interface ControlResult {
  readonly status: number;
  /** The problem code where it was refused. */
  readonly code: string | null;
  readonly requestId: string;
}

/**
 * Makes the function that writes the one line that every control call leaves, whatever became of it. Neither the token
 * nor a text of the body is in it. It is written whatever the least level of the log is, unless that is silent.
 */
export function createControlAuditLog(logger: Logger): (audit: ControlAudit, result: ControlResult) => void {
  const level = logger.level === 'silent' ? 'silent' : 'info';
  const lines = logger.child({ audit: 'control' }, { level });
  return (audit, result) => {
    lines.info(
      {
        token_id: audit.tokenId,
        action: audit.action,
        args_digest: audit.argsDigest,
        status: result.status,
        code: result.code,
        task_id: audit.taskId,
        request_id: result.requestId,
      },
      'control call',
    );
  };
}
