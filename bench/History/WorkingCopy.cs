using RedKite.Figures;

namespace RedKite.History;

/// <summary>What git says of the sources that are being measured.</summary>
/// <param name="IsDirty">They are not the revision's alone: something is changed, or new and not ignored.</param>
internal readonly record struct WorkingCopy(string Revision, bool IsDirty)
{
    internal static WorkingCopy Read(string root)
    {
        string revision = ExternalProgram.Run("git", ["-C", root, "rev-parse", "HEAD"]).Trim();
        // The records themselves are not what is measured: without the exception, only the first of two could be taken.
        string changes = ExternalProgram.Run(
            "git", ["-C", root, "status", "--porcelain", "--", ":(top)", $":(top,exclude){ResultsFile.RepositoryPath}"]);
        return new WorkingCopy(revision, changes.Length > 0);
    }
}
