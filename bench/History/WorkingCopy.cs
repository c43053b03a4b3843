using RedKite.Figures;

namespace RedKite.History;

/// <summary>The git state of the measured sources.</summary>
/// <param name="IsDirty">There are changed files, or new ones that are not ignored.</param>
internal readonly record struct WorkingCopy(string Revision, bool IsDirty)
{
    internal static WorkingCopy Read(string root)
    {
        string revision = ExternalProgram.Run("git", ["-C", root, "rev-parse", "HEAD"]).Trim();
        // The results file itself does not count: otherwise only the first of two records could be taken.
        string changes = ExternalProgram.Run(
            "git", ["-C", root, "status", "--porcelain", "--", ":(top)", $":(top,exclude){ResultsFile.RepositoryPath}"]);
        return new WorkingCopy(revision, changes.Length > 0);
    }
}
