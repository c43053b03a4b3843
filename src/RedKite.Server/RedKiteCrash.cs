namespace RedKite;

/// <summary>A failure that ends the process: an exception escaped while keys were locked.</summary>
/// <param name="Failure">The exception.</param>
/// <param name="Command">The command that was being executed, or other work of the thread; null: unknown.</param>
/// <param name="Report">The crash report. It contains no keys and no values.</param>
/// <param name="ReportPath">The report's file; null: it could not be written.</param>
public sealed record RedKiteCrash(Exception Failure, string? Command, string Report, string? ReportPath);
