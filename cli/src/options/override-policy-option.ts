import { Option } from 'commander'

/** Whether to make changes that the policy of the cluster forbids. */
export interface OverridePolicyOption {
  readonly overridePolicy?: boolean
}

/** Returns the option `--override-policy`. */
export const overridePolicyOption = (): Option =>
  new Option('--override-policy', "Change rules even if the cluster's policy forbids it")
