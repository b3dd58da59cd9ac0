"""Run folders of the original benchmark of 2023, read as they lie on disk.

    env_log/trace.json              the steps, and the steps inside of them
    env_log/overall_time.txt        seconds from start to end
    env_log/error.txt               the traceback that ended it, if one did
    env_log/traces/step_N_files     the workspace after step N, from 0; `step_final_files` at the end
    env_log/tool_logs/step_N_…      what actions asked models, and what these answered
    agent_log/main_log              what the agent said at each step
    agent_log/step_N_log.log        what it asked its model for that, and what came back
    agent_log/agent_M_N.json        its state, with the flags that the run was started with

Everything in them is hostile: nothing is followed, run or unpickled, sizes are bounded, and what does not fit is told.
"""
