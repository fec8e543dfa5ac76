/** One control action: its form, a confirmation if it is destructive, and its result. */

import { actionAnswer } from './action-answer.js';
import { ApiFailure } from './api-client.js';
import { button, code, failureText, prose, rawText } from './elements.js';
import { renderExact } from './exact-json.js';
import { fieldAt, fieldsOf, readFields } from './form-model.js';
import { fieldView } from './form-view.js';
import { words } from './format.js';
import { Component, h } from './preact.js';
import { suggestionsFor } from './suggestions.js';

/** @import { App } from './app.js' */
/** @import { Field, FieldProblem, Values } from './form-model.js' */
/** @import { Accepted } from './wire.d.ts' */
/** @import { DashboardAction } from '../dashboard-contract.ts' */

/**
 * @typedef {object} ActionRequest
 * @property {string} action
 * @property {Values} [fixed] parameters that are shown and sent, and that the reader cannot change
 * @property {Values} [initial] initial values of the form
 * @property {boolean} [changesOnly] whether to leave out fields that still have their initial value
 *
 * @typedef {object} DialogProps
 * @property {App} app
 * @property {ActionRequest} request
 * @property {() => void} onClosed
 *
 * @typedef {object} DialogState
 * @property {'form' | 'confirm' | 'sending' | 'answer'} step
 * @property {Values} values
 * @property {readonly FieldProblem[]} problems
 * @property {ApiFailure | null} failure
 * @property {string} body
 * @property {Accepted | null} accepted
 */

const CHOICE_RULES = {
  one: 'Give exactly one of',
  some: 'Give at least one of',
  exclusive: 'Give at most one of',
};
const FORM_ID = 'action';
/** A message that lists more fields than this would not help. */
const NAMED_FIELDS = 6;

/** @extends {Component<DialogProps, DialogState>} */
export class ActionDialog extends Component {
  /** @param {DialogProps} props */
  constructor(props) {
    super(props);
    const { app, request } = props;
    /** @type {DashboardAction} */
    this.action = /** @type {DashboardAction} */ (app.contract.actions[request.action]);
    /** @type {readonly Field[]} */
    this.fields = fieldsOf(this.action.schema, app.contract.switches);
    /** @type {HTMLDialogElement | null} */
    this.dialog = null;
    /** The same for the same body, so that sending again after a lost answer does nothing twice. */
    this.idempotencyKey = { body: '', key: '' };
    /** @type {DialogState} */
    this.state = {
      step: 'form',
      values: { ...request.initial, ...request.fixed },
      problems: [],
      failure: null,
      body: '{}',
      accepted: null,
    };
  }

  /** @override */
  componentDidMount() {
    this.dialog?.showModal();
    this.focus('input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [type=submit]');
  }

  /**
   * @override
   * @param {DialogProps} _props
   * @param {DialogState} before
   */
  componentDidUpdate(_props, before) {
    const { step, problems, failure } = this.state;
    if (step === 'confirm' && before.step !== 'confirm') this.focus('[data-safe]');
    if (step === 'answer' && before.step !== 'answer') this.focus('h2');
    if (step === 'form' && (problems !== before.problems || failure !== before.failure)) {
      this.focus('[aria-invalid=true]', '[role=alert]');
    }
  }

  /** @param {readonly string[]} selectors the first element found gets the focus */
  focus(...selectors) {
    const found = selectors.map((selector) => this.dialog?.querySelector(selector)).find(Boolean);
    if (found instanceof HTMLElement) found.focus();
  }

  /** @param {Event} event */
  submit(event) {
    event.preventDefault();
    const { request } = this.props;
    const unchanged = request.changesOnly === true ? request.initial : {};
    const { body, problems } = readFields(this.fields, this.state.values, unchanged);
    if (problems.length > 0) {
      this.setState({ problems, failure: null });
      return;
    }
    const text = renderExact(body);
    if (this.idempotencyKey.body !== text) this.idempotencyKey = { body: text, key: randomKey() };
    this.setState({ body: text, problems: [], failure: null });
    if (this.action.destructive) this.setState({ step: 'confirm' });
    else void this.send(text);
  }

  /** @param {string} body */
  async send(body) {
    const { app, request } = this.props;
    this.setState({ step: 'sending' });
    try {
      const path = `/admin/control/${request.action}`;
      const accepted = /** @type {Accepted} */ (await app.api.control(path, body, this.idempotencyKey.key));
      app.watchTask(accepted.task_id);
      app.announce('action', `${request.action} was accepted`);
      this.setState({ step: 'answer', accepted });
    } catch (error) {
      const failure = error instanceof ApiFailure ? error : new ApiFailure(String(error));
      const named = (failure.problem.errors ?? []).map(({ pointer, message }) => ({
        path: fieldAt(pointer, this.fields) ?? '',
        message,
      }));
      this.setState({ step: 'form', failure, problems: named });
    }
  }

  /** @override */
  render() {
    const { app, request, onClosed } = this.props;
    const { step, accepted } = this.state;
    return h(
      'dialog',
      {
        'aria-labelledby': 'action-title',
        ref: (/** @type {HTMLDialogElement | null} */ element) => {
          this.dialog = element;
        },
        onClose: onClosed,
      },
      h(
        'div',
        { class: 'dialog-head' },
        h('h2', { id: 'action-title', tabIndex: -1 }, words(request.action)),
        button('Close', () => this.dialog?.close(), { class: 'quiet' }),
      ),
      step === 'confirm' ? this.confirmView() : accepted === null ? this.formView(app) : null,
      accepted === null ? null : actionAnswer(app, accepted, () => this.dialog?.close()),
    );
  }

  /** @param {App} app */
  formView(app) {
    const { values, problems, failure, step } = this.state;
    const { request } = this.props;
    /** @type {readonly string[]} */
    const general = problems.filter(({ path }) => path === '').map(({ message }) => message);
    const form = {
      id: FORM_ID,
      values,
      problems,
      fixed: new Set(Object.keys(request.fixed ?? {})),
      onChange: (/** @type {string} */ path, /** @type {string | boolean} */ value) =>
        this.setState((state) => ({ values: { ...state.values, [path]: value } })),
      suggest: (/** @type {string} */ name) => suggestionsFor(app, request.action, name),
    };
    return h(
      'form',
      { onSubmit: (/** @type {Event} */ event) => this.submit(event), noValidate: true },
      h('p', null, prose(this.action.summary)),
      h(
        'ul',
        { class: 'help' },
        this.action.choices.map(({ rule, fields }) =>
          h('li', { key: fields.join() }, choiceText(rule, fields)),
        ),
      ),
      failure === null
        ? null
        : h(
            'div',
            { class: 'note bad', role: 'alert', tabIndex: -1 },
            h('p', null, failureText(app, failure)),
            isLost(failure)
              ? h(
                  'p',
                  null,
                  // The service says itself whether the action may have started.
                  failure.isOffline ? 'The action may have started. ' : null,
                  'You can send it again; it will run only once.',
                )
              : null,
            general.map((message) => h('p', { key: message }, message)),
          ),
      this.fields.map((field) => fieldView(form, field)),
      h(
        'div',
        { class: 'buttons' },
        h(
          'button',
          {
            type: 'submit',
            class: this.action.destructive ? 'danger' : 'primary',
            disabled: step === 'sending',
          },
          step === 'sending' ? 'Sending …' : this.action.destructive ? 'Continue …' : `Run ${request.action}`,
        ),
      ),
    );
  }

  confirmView() {
    const { request } = this.props;
    const { body } = this.state;
    return h(
      'div',
      null,
      h(
        'div',
        { class: 'note warn' },
        h('p', null, h('strong', null, `Run ${request.action}? `), prose(this.action.summary)),
        h('p', null, 'This can’t be undone.'),
      ),
      h('p', { class: 'help' }, 'Request:'),
      rawText('Request', body),
      h(
        'div',
        { class: 'buttons' },
        h(
          'button',
          { type: 'button', 'data-safe': true, onClick: () => this.setState({ step: 'form' }) },
          'Back',
        ),
        button(`Yes, run ${request.action}`, () => void this.send(body), { class: 'danger' }),
      ),
    );
  }
}

/**
 * @param {keyof typeof CHOICE_RULES} rule
 * @param {readonly string[]} fields
 */
function choiceText(rule, fields) {
  if (fields.length > NAMED_FIELDS) return `${CHOICE_RULES[rule]} the fields that select what to do.`;
  return [`${CHOICE_RULES[rule]} `, fields.map((name, index) => [index === 0 ? '' : ', ', code(name)]), '.'];
}

/**
 * Whether the result of the call is unknown.
 *
 * @param {ApiFailure} failure
 */
function isLost({ isOffline, problem }) {
  return isOffline || problem.code === 'daemon_unreachable';
}

/** `crypto.randomUUID` exists only in secure origins, and plain HTTP to another host is not one. */
function randomKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}
