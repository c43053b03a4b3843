using RedKite.ClusterChecker;

// Exit status: 0 nothing is wrong, 1 something is, 2 the history cannot be read or has nothing to check.
if (args.Length == 0)
{
    Console.Error.WriteLine("usage: RedKite.ClusterChecker <history>...");
    return 2;
}

History history;
try
{
    history = History.Read(args.SelectMany(File.ReadLines));
}
catch (Exception failure) when (failure is IOException or FormatException or UnauthorizedAccessException)
{
    Console.Error.WriteLine(failure.Message);
    return 2;
}

List<string> violations = Checker.Check(history);
foreach (string violation in violations.Take(50)) Console.WriteLine(violation);
Console.WriteLine($"{history.Summary}: {violations.Count} violations");
return violations.Count > 0 ? 1 : history.Acknowledged == 0 ? 2 : 0;
