/**
 * Reasons of ReleaseChannel conditions beyond those of a verdict (`src/domain/verdict/reasons.ts`): what the operator found on
 * its own way to the pods. The text says what it means and what to do.
 */
export const CHANNEL_REASONS = {
  Distributable: 'Every pod serves the same attested and fully represented release, as the spec asks for.',
  Passed: 'Every pod with fresh evidence passed the checks of this stage.',
  Serving: 'At least one pod serves the channel.',
  UpToDate: 'Nothing is left to do.',
  NotStalled: 'Nothing waits for a person.',
  Suspended:
    'spec.suspend is set: the schedules are disabled and no action is taken; verdicts are still reported.',
  ServiceNotFound:
    'The Service of spec.serverRef does not exist in this namespace. Create it or correct the name.',
  PortNotFound: 'The Service of spec.serverRef has no such port. Correct spec.serverRef.port.',
  TokenSecretNotFound:
    'The Secret of spec.adminTokenSecretRef, or its key, does not exist or is empty. Create it or correct the reference.',
  TokenSecretForbidden:
    'The operator may not read the Secret of spec.adminTokenSecretRef. Grant it get on secrets.',
  TokenRejected: 'A server refused the admin token. Put the token that the server has into the Secret.',
  ControlNotExposed:
    'A server does not forward control actions. Set admin.exposeControl and an admin token on the server.',
  ActionRejected: 'A daemon refused an action; the message has its code. Correct the spec or the daemon.',
  ReleaseUnknown:
    'No daemon knows the release that spec.release names. Correct it, or wait until it is there.',
  PinNotSupported:
    'spec.release names an earlier official release, and no action makes an official release current again. Remove the pin.',
  NoPods: 'No pod stands behind the Service. Check its selector and the Deployment.',
  PodUnreachable:
    'A pod gave no usable answer for so long that nothing is known of it. Check the pod and the network.',
  PodsDiffer: 'The pods serve different releases, as they do for a moment while a release is switched.',
  AdminUnavailable: 'A daemon could not be asked or told; it is tried again. Serving goes on meanwhile.',
  TaskFailed:
    'The task that was to make spec.release current failed. Look at it, and change the spec to try again.',
  ReleaseChanging: 'The daemon was asked to make spec.release current and has not finished.',
} as const;

/** One constant of the catalogue. */
export type ChannelReason = keyof typeof CHANNEL_REASONS;

/** The types of the conditions, in the order in which they are reported, and what True means. */
export const CONDITION_TYPES = {
  Ready: 'Every pod serves the same sound release, and everything the spec asks for is in place.',
  Reconciling: 'The operator works on it, or waits for something that passes by itself.',
  Stalled: 'Nothing goes on until a person changes something.',
  Attested: 'A valid attestation authorizes a release of the channel.',
  SnapshotBound: 'The manifest of that release is on the volume, whole and as attested.',
  Represented: 'Every entry of the release is on the volume, and none is known to be damaged.',
  Serving: 'At least one pod serves the channel.',
} as const;

/** A type of a condition. */
export type ConditionType = keyof typeof CONDITION_TYPES;
