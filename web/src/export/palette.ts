/** Colors, for the screen and for exported pictures. A glyph also shows the state, and dashes show the kind of an edge. */

import type { ExecutionState } from '../documents'

export type Theme = 'light' | 'dark'

export interface Paint {
  fill: string
  stroke?: string
  width?: number
  dash?: string
}

export interface StatePaint {
  color: string
  /** Drawn on a badge of that color, 12 by 12. */
  glyph: string
  words: string
}

const GLYPHS = {
  ring: 'M6 2a4 4 0 1 0 0 8a4 4 0 1 0 0-8',
  clock: 'M6 1.5v4.5l3 2',
  up: 'M6 10V2.5M2.5 6L6 2.5L9.5 6',
  play: 'M3.5 2l6 4l-6 4z',
  check: 'M2 6.5l3 3l5-6.5',
  cross: 'M2.5 2.5l7 7M9.5 2.5l-7 7',
  stop: 'M2.5 2.5h7v7h-7z',
  slash: 'M2.5 9.5l7-7',
  loop: 'M9.5 4A4 4 0 1 0 10 7M9.8 1.5V4.2H7',
}

/** Out of a store, and into one; 12 by 12. */
export const ROLE_GLYPHS = {
  source: 'M1.5 1.5v9M4 6h7M8 3l3 3l-3 3',
  sink: 'M10.5 1.5v9M1 6h7M5 3l3 3l-3 3',
}

const STATES: Record<ExecutionState, [light: string, dark: string, glyph: keyof typeof GLYPHS]> = {
  CREATED: ['#5f6b7a', '#8b97a6', 'ring'],
  SCHEDULED: ['#6b5b95', '#b3a2dd', 'clock'],
  DEPLOYING: ['#8a5a00', '#e0ad4c', 'up'],
  INITIALIZING: ['#8a5a00', '#e0ad4c', 'up'],
  RUNNING: ['#0b65c2', '#66b2ff', 'play'],
  FINISHED: ['#18794e', '#4cc38a', 'check'],
  CANCELING: ['#5f6b7a', '#8b97a6', 'slash'],
  CANCELED: ['#5f6b7a', '#8b97a6', 'stop'],
  FAILED: ['#c62a2f', '#ff7b80', 'cross'],
  RECONCILING: ['#6b5b95', '#b3a2dd', 'loop'],
}

export function statePaint(state: ExecutionState, theme: Theme): StatePaint {
  const [light, dark, glyph] = STATES[state] ?? STATES.CREATED
  return { color: theme === 'light' ? light : dark, glyph: GLYPHS[glyph], words: state }
}

/** Airflow's state of a run, as the state of an execution. */
export function runStatePaint(state: string, theme: Theme): StatePaint {
  const states: Record<string, ExecutionState> = { queued: 'SCHEDULED', running: 'RUNNING', success: 'FINISHED', failed: 'FAILED' }
  return { ...statePaint(states[state] ?? 'CREATED', theme), words: state }
}

export const CHANGE_PAINT = {
  added: { light: '#18794e', dark: '#4cc38a', glyph: 'M6 2v8M2 6h8' },
  removed: { light: '#c62a2f', dark: '#ff7b80', glyph: 'M2 6h8' },
  changed: { light: '#8a5a00', dark: '#e0ad4c', glyph: 'M1.5 7c1.5-3 3-3 4.5-1s3 2 4.5-1' },
  affected: { light: '#0b65c2', dark: '#66b2ff', glyph: 'M2 6h7M6.5 3.5L9 6L6.5 8.5' },
} as const

const PAINTS = {
  light: {
    page: { fill: '#ffffff' },
    hull: { fill: '#f3f5f8', stroke: '#aab4c0', width: 1 },
    hullTitle: { fill: '#1f2933' },
    hullSubtitle: { fill: '#51606f' },
    region: { fill: '#e9edf2', stroke: '#aab4c0', width: 1 },
    node: { fill: '#ffffff', stroke: '#8794a3', width: 1 },
    end: { fill: '#e8f6f4', stroke: '#0f766e', width: 1.5 },
    title: { fill: '#14202b' },
    subtitle: { fill: '#51606f' },
    line: { fill: '#334150' },
    rule: { fill: 'none', stroke: '#dde2e8', width: 1 },
    plain: { fill: 'none', stroke: '#6b7886', width: 1.5 },
    blocking: { fill: 'none', stroke: '#6b7886', width: 2, dash: '10 4 2 4' },
    staged: { fill: 'none', stroke: '#a34700', width: 3.5, dash: '9 5' },
    chained: { fill: 'none', stroke: '#0b65c2', width: 2.5 },
    virtual: { fill: 'none', stroke: '#6b7886', width: 1.5, dash: '2 4' },
    label: { fill: '#ffffff', stroke: '#dde2e8', width: 1 },
    labelStaged: { fill: '#fff4e8', stroke: '#a34700', width: 1 },
    labelVirtual: { fill: '#ffffff', stroke: '#51606f', width: 1.2, dash: '2 3' },
    labelText: { fill: '#334150' },
    labelTextStaged: { fill: '#7a3500' },
    selected: { fill: 'none', stroke: '#7c3aed', width: 3 },
    badgeGlyph: { fill: 'none', stroke: '#ffffff', width: 1.8 },
  },
  dark: {
    page: { fill: '#161d2d' },
    hull: { fill: '#1d2638', stroke: '#4a5665', width: 1 },
    hullTitle: { fill: '#e6ebf1' },
    hullSubtitle: { fill: '#a7b3c0' },
    region: { fill: '#243049', stroke: '#4a5665', width: 1 },
    node: { fill: '#242b34', stroke: '#65727f', width: 1 },
    end: { fill: '#12302f', stroke: '#4fd1c1', width: 1.5 },
    title: { fill: '#f1f4f7' },
    subtitle: { fill: '#a7b3c0' },
    line: { fill: '#ccd4dc' },
    rule: { fill: 'none', stroke: '#3a4450', width: 1 },
    plain: { fill: 'none', stroke: '#8f9baa', width: 1.5 },
    blocking: { fill: 'none', stroke: '#8f9baa', width: 2, dash: '10 4 2 4' },
    staged: { fill: 'none', stroke: '#f59e42', width: 3.5, dash: '9 5' },
    chained: { fill: 'none', stroke: '#66b2ff', width: 2.5 },
    virtual: { fill: 'none', stroke: '#8f9baa', width: 1.5, dash: '2 4' },
    label: { fill: '#161d2d', stroke: '#3a4450', width: 1 },
    labelStaged: { fill: '#3a2613', stroke: '#f59e42', width: 1 },
    labelVirtual: { fill: '#161d2d', stroke: '#a7b3c0', width: 1.2, dash: '2 3' },
    labelText: { fill: '#ccd4dc' },
    labelTextStaged: { fill: '#ffc98f' },
    selected: { fill: 'none', stroke: '#b794f6', width: 3 },
    badgeGlyph: { fill: 'none', stroke: '#161d2d', width: 1.8 },
  },
} satisfies Record<Theme, Record<string, Paint>>

export type PaintName = keyof (typeof PAINTS)['light']

export function paint(name: PaintName, theme: Theme): Paint {
  return PAINTS[theme][name]
}
